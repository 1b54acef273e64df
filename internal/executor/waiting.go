package executor

import (
	"context"
	"errors"
	"fmt"

	"paddock"
	"paddock/internal/executor/consent"
	"paddock/internal/executor/judge"
)

// Consent is where persons are asked and vote.
func (e *Executor) Consent() consent.Desk {
	return consent.Desk{State: e.state, Notes: e.notes, Now: e.cfg.Now}
}

// consented returns the case of what j asks about if it may be used, else a run that
// waits for it. Who leaves his run at the command line doesn't stay to start it.
func (e *Executor) consented(ctx context.Context, req paddock.Request, j *judge.Judgement) (*consent.Case, paddock.Run, error) {
	c, err := e.Consent().Consented(ctx, j, req.Tied || req.Door != paddock.DoorCLI)
	if err != nil {
		return nil, paddock.Run{}, judge.RecordError(ctx, err)
	}
	j.Approve(c.ID) // a run that waits is written down as that, and isn't started by this judgement
	if c.State == paddock.ApprovalApproved {
		return &c, paddock.Run{}, nil
	}
	dir, existing, err := e.claim(ctx, req, j, nil)
	if err != nil {
		return nil, paddock.Run{}, err
	}
	if existing != "" {
		run, err := e.begun(ctx, existing)
		return nil, run, err
	}
	a := consent.Attendant{Desk: e.Consent(), Dir: dir, Case: c, Judge: func(ctx context.Context) consent.Judgement { return e.judge.Rejudge(ctx, req) }}
	a.Launch = func(ctx context.Context, again consent.Judgement) error {
		now := again.(*judge.Judgement)
		now.Claimed(j)
		_, err := e.launch(ctx, dir, req, now, nil)
		return err
	}
	e.work.Go(func() {
		if err := a.Attend(e.life); err != nil && !errors.Is(err, ErrClosed) {
			e.cfg.Warn(fmt.Errorf("run %s, which waits for approval: %w", dir.ID(), err))
		}
	})
	run, err := dir.Record(e.cfg.Now())
	return nil, run, err
}
