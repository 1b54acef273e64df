package executor

import (
	"context"
	"errors"
	"fmt"

	"paddock"
	"paddock/internal/executor/consent"
	"paddock/internal/executor/judge"
	"paddock/internal/executor/judge/budget"
	"paddock/internal/executor/judge/source"
	"paddock/internal/rundir"
)

// Consent is where persons are asked and vote.
func (e *Executor) Consent() consent.Desk {
	return consent.Desk{State: e.state, Notes: e.notes, Now: e.cfg.Now}
}

// consented returns the case of what j asks about if it may be used, else a run that
// waits for it. Who leaves a run that can't wait alone doesn't stay to start it.
func (e *Executor) consented(ctx context.Context, req paddock.Request, j *judge.Judgement, t terms) (*consent.Case, paddock.Run, error) {
	c, err := e.Consent().Consented(ctx, j, req.Tied || req.Door != paddock.DoorCLI || e.lasts(req, j))
	if err != nil {
		return nil, paddock.Run{}, budget.RecordError(ctx, err)
	}
	j.Approve(c.ID) // a run that waits is written down as that, and isn't started by this judgement
	if c.State == paddock.ApprovalApproved {
		return &c, paddock.Run{}, nil
	}
	dir, existing, err := e.claim(ctx, req, j, nil, t)
	if err != nil {
		return nil, paddock.Run{}, err
	}
	if existing != "" {
		run, err := e.begun(ctx, existing)
		return nil, run, err
	}
	a := consent.Attendant{Desk: e.Consent(), Dir: dir, Case: c, Lasts: e.lasts(req, j)}
	e.equip(&a, e.judge, req, j.Room())
	e.work.Go(func() {
		if err := a.Attend(e.life); err != nil && !errors.Is(err, ErrClosed) {
			e.cfg.Warn(fmt.Errorf("run %s, which waits for approval: %w", dir.ID(), err))
		}
	})
	run, err := dir.Record(e.cfg.Now())
	return nil, run, err
}

// equip tells a how to judge its run by the judge by, and how to start it.
func (e *Executor) equip(a *consent.Attendant, by *judge.Judge, req paddock.Request, room budget.Room) {
	dir := a.Dir
	a.Judge = func(ctx context.Context) consent.Judgement { return by.Rejudge(ctx, req) }
	a.Launch = func(ctx context.Context, again consent.Judgement) error {
		now := again.(*judge.Judgement) //nolint:errcheck // the same
		now.Claimed(room)
		_, err := e.launch(ctx, dir, req, now, nil)
		return err
	}
}

// lasts reports whether the run that j judges waits on when we are gone: if it isn't
// tied to who asks, and others can judge and start it as we do.
func (e *Executor) lasts(req paddock.Request, j *judge.Judgement) bool {
	file, _ := j.Basis()
	return !req.Tied && req.Room == "" && req.Command.ReplaceEnv == nil && e.cfg.Hook == nil && file != ""
}

// hold writes down what others start the prepared run by, if it is to wait and lasts.
func (e *Executor) hold(dir *rundir.Dir, req paddock.Request, j *judge.Judgement) error {
	if j.Decision.Approval == "" || !e.lasts(req, j) {
		return nil
	}
	file, env := j.Basis()
	return consent.Hold(dir, consent.Held{Request: req, Policy: file, HostEnv: env, Room: j.Room().Bytes, RoomBy: j.Room().Counter})
}

// Resume starts what was approved, or settles what won't be, of the runs that wait and
// have nobody who stays with them.
func (e *Executor) Resume(ctx context.Context) {
	if e.ReadOnly() != nil || e.cfg.Hook != nil || e.cfg.Idle {
		return // a host program's veto is for what it asks for itself
	}
	e.Consent().Resume(ctx, func(a *consent.Attendant, held consent.Held) {
		policy := e.cfg.Policy
		if ours, err := policy.Load(); err != nil || ours.Name() != held.Policy {
			policy = source.File(held.Policy)
		}
		e.equip(a, e.judge.On(policy, held.HostEnv), held.Request, budget.Room{Bytes: held.Room, Counter: held.RoomBy})
	}, e.Leases.Anothers, e.cfg.Warn)
}
