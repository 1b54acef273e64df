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
	id, err := e.named(t)
	if err != nil {
		return nil, paddock.Run{}, err
	}
	dir, existing, err := e.claim(ctx, id, req, j, nil, nil)
	if err != nil {
		return nil, paddock.Run{}, err
	}
	if existing != "" {
		run, err := e.begun(ctx, existing)
		return nil, run, err
	}
	a := consent.Attendant{Desk: e.Consent(), Dir: dir, Case: c, Lasts: e.lasts(req, j)}
	if err := a.Begin(ctx); err != nil {
		return nil, paddock.Run{}, budget.RecordError(ctx, err)
	}
	e.equip(&a, e.judge, req, j.Room(), terms{id: t.id})
	e.work.Go(func() {
		if err := a.Attend(e.life); err != nil && !errors.Is(err, ErrClosed) {
			e.cfg.Warn(fmt.Errorf("run %s, which waits for approval: %w", dir.ID(), err))
		}
	})
	run, err := dir.Record(e.cfg.Now())
	return nil, run, err
}

// equip tells a how to judge its run by the judge by, and how to start it.
func (e *Executor) equip(a *consent.Attendant, by *judge.Judge, req paddock.Request, room budget.Room, t terms) {
	dir := a.Dir
	a.Judge = func(ctx context.Context) consent.Judgement { return by.Rejudge(ctx, req) }
	a.Launch = func(ctx context.Context, again consent.Judgement) error {
		now := again.(*judge.Judgement) //nolint:errcheck // the same
		now.Claimed(room)
		h := e.ready(ctx, dir.ID(), req, now, nil)
		h.Give(dir.Lock())
		_, err := e.launch(ctx, dir, req, now, h, t)
		return err
	}
}

// lasts reports whether j's run waits on without us: it isn't tied, and others can start it.
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

// Resume starts or settles, where that can be said now, what waits with nobody beside it.
func (e *Executor) Resume(ctx context.Context) {
	if e.ReadOnly() != nil || e.cfg.Hook != nil || e.cfg.Idle {
		return // a host program's veto is for what it asks for itself
	}
	e.Consent().Resume(ctx, func(a *consent.Attendant, held consent.Held) {
		policy := e.cfg.Policy
		if ours, err := policy.Load(); err != nil || ours.Name() != held.Policy {
			policy = source.File(held.Policy)
		}
		e.equip(a, e.judge.On(policy, held.HostEnv), held.Request, budget.Room{Bytes: held.Room, Counter: held.RoomBy}, terms{id: e.Leases.Named(a.Dir.ID())})
	}, e.Leases.Anothers, e.cfg.Warn)
}
