package executor

import (
	"cmp"
	"context"
	"time"

	"paddock"
	"paddock/internal/executor/provide"
	"paddock/internal/executor/watch"
)

// An Ending says how a run is to be ended and why.
type Ending = watch.Ending

// Kill asks for the end of a run and returns its record when it is settled, or
// as it is when that takes longer than the grace period and a second. A settled
// run comes back unchanged. A run that nobody looks after any more is settled
// as lost.
func (e *Executor) Kill(ctx context.Context, id paddock.RunID, end Ending) (paddock.Run, error) {
	dir, err := e.state.Run(id)
	if err != nil {
		return paddock.Run{}, err
	}
	if err := e.unwritable(); err != nil {
		return paddock.Run{}, err
	}
	end.Kind, end.Signal = cmp.Or(end.Kind, paddock.ReasonKill), cmp.Or(end.Signal, "TERM")
	e.notes.Kill(ctx, dir, end.Kind, end.Signal, end.By, end.Why)
	if err := e.Consent().Withdraw(ctx, dir, end.Kind, end.By, end.Why); err != nil {
		return paddock.Run{}, err
	}
	if err := e.hub.End(ctx, dir, end, e.cfg.Grace+time.Second); err != nil {
		return paddock.Run{}, err
	}
	return dir.Record(e.cfg.Now())
}

// Abort ends a run of ours that nobody waits for any more.
func (e *Executor) Abort(ctx context.Context, id paddock.RunID) error {
	_, err := e.Kill(ctx, id, Ending{Kind: paddock.ReasonAbort, By: provide.By.ID})
	return err
}
