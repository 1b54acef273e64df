package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"paddock"
	"paddock/internal/executor/consent"
	"paddock/internal/executor/judge"
	"paddock/internal/executor/judge/budget"
	"paddock/internal/executor/judge/parcel"
	"paddock/internal/executor/judge/speech"
	"paddock/internal/executor/provide"
	"paddock/internal/executor/remains"
	"paddock/internal/executor/roster"
	"paddock/internal/executor/stages/hand"
	"paddock/internal/rundir"
)

// Explain judges req as Start would and changes nothing. An error is our own fault,
// or the machine's.
func (e *Executor) Explain(ctx context.Context, req paddock.Request) (paddock.Decision, error) {
	j := e.judge.Judge(ctx, req)
	defer j.Close()
	return j.Decision, j.Fault
}

// Start judges req and, when it is granted, starts it. It returns once the
// program has become the program, or the run is settled because it couldn't.
// A refusal is a [*paddock.Refusal]. When ctx ends before that, the run is
// ended as aborted and returned with ctx's error; later ctx means nothing.
func (e *Executor) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	return e.with(ctx, e.judge, req, terms{})
}

// Begin is Start by the policy that judged of, where sink takes what the program prints,
// of which nothing is kept. The policy must say so, too.
func (e *Executor) Begin(ctx context.Context, req paddock.Request, sink *os.File, of provide.Judgement) (paddock.Run, error) {
	return e.with(ctx, e.judge.Asking(of.(*judge.Judgement)), req, terms{sink: sink}) //nolint:errcheck // the executor makes all there are
}

// StartWith is Start with a socket that the program gets as descriptor 3; it is the
// caller's, who closes it. Nil is none. A run that waits for approval gets none.
func (e *Executor) StartWith(ctx context.Context, req paddock.Request, door *os.File) (paddock.Run, error) {
	return e.with(ctx, e.judge, req, terms{door: door})
}

func (e *Executor) with(ctx context.Context, by *judge.Judge, req paddock.Request, t terms) (paddock.Run, error) {
	if err := e.life.Err(); err != nil {
		return paddock.Run{}, ErrClosed
	}
	if err := e.unwritable(); err != nil {
		return paddock.Run{}, err
	}
	hand.Rouse(e.cfg.Warm > 0, e.stages)
	run, policy, err := e.start(ctx, by, req, t)
	if refusal, ok := errors.AsType[*paddock.Refusal](err); ok && !t.silent(refusal) {
		e.notes.Refused(ctx, req, policy, refusal)
	}
	return run, err
}

// start is Start, and says which policy was asked.
func (e *Executor) start(ctx context.Context, by *judge.Judge, req paddock.Request, t terms) (_ paddock.Run, policy paddock.Digest, err error) {
	if e.cfg.Idle {
		return paddock.Run{}, "", paddock.Refused(paddock.NoWorker, "This server starts nothing itself: it only queues runs for workers.")
	}
	// A key that stands for a run answers first: that is there, whatever the policy would say now.
	if run, found, err := e.again(ctx, req); found || err != nil {
		return run, "", err
	}
	j := by.Judge(ctx, req)
	defer j.Close()
	j.Door, policy = t.door, j.Decision.PolicyDigest
	var approved *consent.Case
	if j.Asks() && ctx.Err() == nil {
		var run paddock.Run
		if approved, run, err = e.consented(ctx, req, j, t); approved == nil {
			return run, policy, err
		}
	}
	if err := cmp.Or(ctx.Err(), j.Allows()); err != nil { // what was judged meanwhile may say so in other words
		return paddock.Run{}, policy, err
	}
	if pool, err := e.stages(); err == nil { // else the run's record will tell
		pool.Resemble(j.Decision.Grant().Contain)
		pool.Expect(!req.Tied)
	}
	if err := e.secrets.Ask(ctx, policy, j); err != nil {
		return paddock.Run{}, policy, err
	}
	id, err := e.named(t)
	if err != nil {
		return paddock.Run{}, policy, err
	}
	h := e.ready(ctx, id, req, j, t.sink)
	defer h.Drop(ctx)
	dir, existing, err := e.claim(ctx, id, req, j, approved, h.Give)
	var run paddock.Run
	switch {
	case err != nil:
	case existing != "":
		run, err = e.begun(ctx, existing)
	default:
		run, err = e.launch(ctx, dir, req, j, h, t)
	}
	return run, policy, err
}

// again returns the run that req's idempotency key stands for already.
func (e *Executor) again(ctx context.Context, req paddock.Request) (run paddock.Run, found bool, err error) {
	if err := speech.Key(req.IdempotencyKey); err != nil {
		return paddock.Run{}, false, err
	}
	id, err := e.Again(ctx, req)
	if err != nil || id == "" {
		return paddock.Run{}, false, err
	}
	run, err = e.begun(ctx, id)
	return run, true, err
}

// claim writes the run down and makes it exist, unless its key already stands
// for one, which is returned instead. The directory comes back locked. Approved is what
// is used by it; without one, what was approved waits. Locked is as in [rundir.Intent].
func (e *Executor) claim(ctx context.Context, id paddock.RunID, req paddock.Request, j *judge.Judgement, approved *consent.Case, locked func(*os.File)) (*rundir.Dir, paddock.RunID, error) {
	now := e.cfg.Now()
	dir, err := e.notes.Prepare(ctx, e.state, id, rundir.Intent{
		Request: req, Decision: j.Decision, CreatedAt: now, Waits: approved == nil && j.Decision.Approval != "", Locked: locked, Root: j.Found.Root,
		Beside: e.notes.Policy(ctx, e.state, j.Decision.PolicyDigest, j.PolicyText(), j.Trouble),
	})
	if err != nil {
		return nil, "", budget.RecordError(ctx, err)
	}
	var existing paddock.RunID
	err = e.state.Claim(ctx, func(c *rundir.Claim) error {
		var err error
		if existing, err = roster.Keyed(c, req); err != nil || existing != "" {
			return err
		}
		// Others may have started runs since we judged.
		if err := j.Take(ctx, c, id, now); err != nil {
			return err
		}
		if approved != nil {
			if err := e.Consent().Use(ctx, *approved, id); err != nil {
				return err
			}
		} else if err := e.hold(dir, req, j); err != nil {
			return err
		}
		return c.Publish(dir, req.IdempotencyKey)
	})
	if err == nil && existing == "" {
		return dir, "", nil
	}
	why := err
	if existing != "" {
		why = fmt.Errorf("its idempotency key has become run %s meanwhile", existing)
	}
	e.notes.Abandoned(ctx, id, why)
	// What was published in spite of an error is found lost without its lock,
	// and what can't be removed is swept by whoever reconciles next.
	if left := errors.Join(dir.Abandon(), dir.ReleaseLock()); left != nil {
		e.cfg.Warn(fmt.Errorf("run %s, which isn't to be: %w", id, left))
	}
	return nil, existing, budget.RecordError(ctx, err)
}

// ready takes a supervisor for the run that is about to be written down, and packs what
// that is handed. What fails is told by launch.
func (e *Executor) ready(ctx context.Context, id paddock.RunID, req paddock.Request, j *judge.Judgement, sink *os.File) *hand.Hand {
	return hand.Ready(ctx, e.stages, !req.Tied, func(digest paddock.Digest) (hand.Job, string, error) {
		if err := e.secrets.Ask(ctx, j.Decision.PolicyDigest, j); err != nil { // of what waited; else it has been
			return hand.Job{}, "ask for the secrets", err
		}
		made, step, err := parcel.Maker{
			Judge: e.judge, State: e.state, Grace: paddock.Duration(e.cfg.Grace), Isolation: e.cfg.Isolation, Stage: digest, Journal: e.notes.Dir(),
		}.Make(ctx, id, req, j, sink)
		return hand.Job{Text: made.Text, Files: made.Files, Done: made.Close, Left: func() { remains.Unborn(id, j.Found.Root, e.cfg.Warn) }}, step, err
	})
}

// launch has the supervisor of the claimed run start it.
func (e *Executor) launch(ctx context.Context, dir *rundir.Dir, req paddock.Request, j *judge.Judgement, h *hand.Hand, t terms) (paddock.Run, error) {
	stage, step, err := h.Say(ctx, func() ([]byte, []*os.File, string, error) {
		lease, err := e.Leases.Held(dir.ID(), t.id)
		if err != nil {
			return nil, nil, "look at the lease", err
		}
		return parcel.Maker{State: e.state}.Word(ctx, dir, j, lease)
	})
	if err != nil {
		if h.Given() { // and its supervisor may have been ended before it undid anything
			if _, left := remains.Clear(dir, judge.Workspace, e.cfg.Now); left != nil {
				e.cfg.Warn(fmt.Errorf("run %s: %w", dir.ID(), left))
			}
		}
		reason := paddock.Reason{Kind: paddock.ReasonStart, Step: step, Detail: err.Error()}
		state := paddock.FailedToStart
		if ctx.Err() != nil {
			state, reason = paddock.Killed, paddock.Reason{Kind: paddock.ReasonAbort, By: req.Principal.ID, Detail: "before the program was started"}
		}
		run, err := e.notes.NeverStarted(ctx, dir, state, reason)
		return run, errors.Join(err, ctx.Err())
	}
	// The supervisor has its own descriptor of the lock, or will have it when it
	// reads the job: one that is on its way holds the lock, too.
	if err := dir.ReleaseLock(); err != nil {
		e.cfg.Warn(fmt.Errorf("run %s: %w", dir.ID(), err))
	}
	e.hub.Adopt(dir, stage.Conn(), stage.Kill, func() {
		gone := stage.Reap()
		e.work.Go(func() { e.Over(e.life, dir.ID(), gone, e.cfg.Warn) })
	})
	_ = dir.Remember() // meanwhile; what can't be read is told by who reads it again
	run, err := e.begun(ctx, dir.ID())
	if err != nil && ctx.Err() != nil {
		run, err = e.Kill(context.WithoutCancel(ctx), dir.ID(), Ending{Kind: paddock.ReasonAbort, By: req.Principal.ID})
		err = errors.Join(ctx.Err(), err)
	}
	return run, err
}

// begun returns the run once its program has started or it is settled.
func (e *Executor) begun(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	dir, err := e.Find(id)
	if err != nil {
		return paddock.Run{}, err
	}
	if err := e.hub.Begun(ctx, dir); err != nil {
		return paddock.Run{}, err
	}
	return dir.Record(e.cfg.Now())
}
