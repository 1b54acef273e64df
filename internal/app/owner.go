package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"paddock"
	"paddock/internal/executor"
)

// Who starts runs can be bound to their life in more ways than by asking for
// their end. These are for doors, which act for their principal then.

// Abort ends a run because what it was started for was canceled, and returns
// once its supervisor was told.
func (a *App) Abort(ctx context.Context, p paddock.Principal, id paddock.RunID) error {
	if _, err := a.visible(ctx, p, id); err != nil {
		return err
	}
	_, err := a.exec.Kill(ctx, id, executor.Ending{Kind: paddock.ReasonAbort, Signal: "TERM", By: p.ID, NoWait: true})
	return err
}

// Shutdown ends runs because p, who owns them, is closing, and returns when
// they are settled.
func (a *App) Shutdown(ctx context.Context, p paddock.Principal, ids []paddock.RunID) error {
	faults := make([]error, len(ids))
	var all sync.WaitGroup
	turn := make(chan struct{}, atOnce)
	for i, id := range ids {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			_, err := a.visible(ctx, p, id)
			if err == nil {
				_, err = a.exec.Kill(ctx, id, executor.Ending{Kind: paddock.ReasonShutdown, Signal: "TERM", By: p.ID})
			}
			if err != nil {
				faults[i] = fmt.Errorf("run %s: %w", id, err)
			}
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

// Settled returns when the run is settled or ctx ends. Unlike Wait it doesn't
// count as reading the run's end.
func (a *App) Settled(ctx context.Context, p paddock.Principal, id paddock.RunID) error {
	if err := a.may(p, id); err != nil {
		return err
	}
	return a.exec.Settled(ctx, id)
}
