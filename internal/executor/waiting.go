package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/executor/consent"
	"paddock/internal/executor/judge"
	"paddock/internal/rundir"
)

// lookEvery is how often whoever waits for an approval looks.
const lookEvery = 250 * time.Millisecond

// Consent is where persons are asked, and where their votes are put.
func (e *Executor) Consent() consent.Desk {
	return consent.Desk{State: e.state, Notes: e.notes, Judge: e.judge, Now: e.cfg.Now}
}

// stays reports whether this process stays to start req when it is approved. Who
// starts a run at the command line and leaves it doesn't.
func stays(req paddock.Request) bool { return req.Tied || req.Door != paddock.DoorCLI }

// consented finds what persons said of what j asks about. It returns the case if it
// may be used, or a run that waits for it, or a refusal.
func (e *Executor) consented(ctx context.Context, req paddock.Request, j *judge.Judgement) (*consent.Case, paddock.Run, error) {
	c, err := e.Consent().Look(ctx, j)
	if err != nil {
		return nil, paddock.Run{}, err
	}
	switch {
	case c.State == paddock.ApprovalApproved:
		j.Approve(c.ID)
		return &c, paddock.Run{}, nil
	case c.State == paddock.ApprovalWaiting && stays(req):
		j.Approve(c.ID) // as it is written down; it isn't started by this judgement
		run, err := e.wait(ctx, req, j, c)
		return nil, run, err
	}
	return nil, paddock.Run{}, c.Refusal()
}

// wait makes a run that waits for c, and stays with it. It has its own copy of what
// was asked: values of variables aren't written down.
func (e *Executor) wait(ctx context.Context, req paddock.Request, j *judge.Judgement, c consent.Case) (paddock.Run, error) {
	dir, existing, err := e.claim(ctx, req, j, nil)
	if err != nil {
		return paddock.Run{}, err
	}
	if existing != "" {
		return e.begun(ctx, existing)
	}
	e.work.Go(func() {
		if err := e.attend(e.life, dir, req, c); err != nil {
			e.cfg.Warn(fmt.Errorf("run %s, which waits for approval: %w", dir.ID(), err))
		}
	})
	return dir.Record(e.cfg.Now())
}

// attend stays with a run that waits until it is started or settled. We hold its lock.
func (e *Executor) attend(ctx context.Context, dir *rundir.Dir, req paddock.Request, c consent.Case) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if outcome, err := dir.Outcome(); err != nil || outcome != nil { // somebody ended it
			return errors.Join(err, dir.ReleaseLock())
		}
		now, err := e.Consent().Again(c)
		switch {
		case err != nil:
			return e.refused(ctx, dir, paddock.Reason{Kind: paddock.ReasonChanged, Detail: err.Error()})
		case now.State == paddock.ApprovalApproved:
			return e.proceed(ctx, dir, req, now)
		case now.State == paddock.ApprovalLapsed:
			err = e.Consent().Lapse(context.WithoutCancel(ctx), now.Approval)
			return errors.Join(err, e.refused(ctx, dir, now.Reason()))
		case now.State == paddock.ApprovalUsed:
			return e.refused(ctx, dir, paddock.Reason{Kind: paddock.ReasonChanged, Detail: "what was approved was used by others who asked for the same"})
		case now.State != paddock.ApprovalWaiting:
			return e.refused(ctx, dir, now.Reason())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return e.unwaited(context.WithoutCancel(ctx), dir, paddock.Killed, paddock.Reason{Kind: paddock.ReasonCallerGone, Detail: "whoever asked for it is gone, before it was approved and started"})
		}
	}
}

// proceed judges anew and starts what was approved, if it still is exactly that.
func (e *Executor) proceed(ctx context.Context, dir *rundir.Dir, req paddock.Request, c consent.Case) error {
	j := e.judge.Rejudge(ctx, req)
	defer j.Close()
	desk := e.Consent()
	if err := desk.Fits(ctx, j, c); err != nil {
		return e.refused(ctx, dir, paddock.Reason{Kind: paddock.ReasonChanged, Detail: "what would be started isn't what was approved: " + err.Error()})
	}
	j.Approve(c.ID)
	over := false
	err := e.state.Claim(ctx, func(*rundir.Claim) error {
		outcome, err := dir.Outcome()
		if over = outcome != nil; err != nil || over {
			return err
		}
		if err := desk.Use(ctx, c, dir.ID()); err != nil {
			return err
		}
		return dir.Proceed()
	})
	switch {
	case over:
		return dir.ReleaseLock()
	case err != nil:
		return e.refused(ctx, dir, paddock.Reason{Kind: paddock.ReasonChanged, Detail: err.Error()})
	}
	// It is used now: what comes of it isn't for who closes us to take back.
	if _, err = e.launch(context.WithoutCancel(ctx), dir, req, j); errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// refused settles a run that wasn't approved.
func (e *Executor) refused(ctx context.Context, dir *rundir.Dir, reason paddock.Reason) error {
	return e.unwaited(context.WithoutCancel(ctx), dir, paddock.RefusedState, reason)
}

// unwaited settles a run that waits, unless somebody did, and lets go of it.
func (e *Executor) unwaited(ctx context.Context, dir *rundir.Dir, state paddock.State, reason paddock.Reason) error {
	err := e.state.Claim(ctx, func(*rundir.Claim) error { _, err := e.unbegun(ctx, dir, state, reason); return err })
	return errors.Join(err, dir.ReleaseLock())
}

// unbegun settles a run that waits and isn't settled. The caller has the claim, under
// which alone such runs are started and settled.
func (e *Executor) unbegun(ctx context.Context, dir *rundir.Dir, state paddock.State, reason paddock.Reason) (settled bool, err error) {
	waits, err := dir.Waits()
	if err != nil || !waits {
		return false, err
	}
	if outcome, err := dir.Outcome(); err != nil || outcome != nil {
		return false, err
	}
	_, err = e.notes.NeverStarted(ctx, dir, state, reason)
	return err == nil, err
}

// withdraw settles a run that waits for approval as it is asked to, if it still
// waits. Under the claim: whoever finds it approved looks there whether it is over.
func (e *Executor) withdraw(ctx context.Context, dir *rundir.Dir, end Ending) (withdrawn bool, err error) {
	if waits, err := dir.Waits(); err != nil || !waits {
		return false, err
	}
	err = e.state.Claim(ctx, func(*rundir.Claim) (err error) {
		withdrawn, err = e.unbegun(ctx, dir, paddock.Killed, paddock.Reason{Kind: cmp.Or(end.Kind, paddock.ReasonKill), By: end.By, Why: end.Why, Detail: "before it was approved"})
		return err
	})
	return withdrawn, err
}
