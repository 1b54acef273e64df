package dispatch

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/dispatch/answers"
	"paddock/internal/dispatch/rows"
	"paddock/internal/store"
)

// told is what a house says of a run: what was printed. How it came out is
// what the row says, that others were told of a machine which nobody heard.
func (f *Front) told(ctx context.Context, p paddock.Principal, id paddock.RunID, at place, run paddock.Run, err error) (paddock.Run, error) {
	if answers.IsHidden(err) || answers.IsAway(err) {
		return at.run, nil
	}
	if err != nil {
		return run, err
	}
	if at.row == nil {
		return f.ours(ctx, id, run)
	}
	known := at.run
	if run.State.Settled() && !known.State.Settled() { // it ended meanwhile, and was told perhaps
		row, err := f.cfg.Runs.Run(ctx, rows.Scope(p), id)
		if err != nil {
			return run, err
		}
		known = f.record(row)
	}
	return rows.Settled(known, run), nil
}

// ours is what is known of a run in the directory here. What its row gave up is over.
func (f *Front) ours(ctx context.Context, id paddock.RunID, run paddock.Run) (paddock.Run, error) {
	if !f.cfg.Shared && run.State.Settled() {
		return run, nil
	}
	row, err := f.cfg.Runs.Run(ctx, store.Everyone(), id)
	if err == nil {
		run = rows.Agreed(f.cfg.Shared, f.record(row), run)
	} else if errors.Is(err, store.ErrNotFound) {
		err = nil // it never was in the queue
	}
	return run, err
}
