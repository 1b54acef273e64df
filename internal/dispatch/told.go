package dispatch

import (
	"context"
	"errors"

	"paddock"
	"paddock/internal/dispatch/rows"
	"paddock/internal/store"
)

// What is settled is settled by the row, wherever several machines share the queue. A
// machine that nobody hears has its runs called lost, and its own record says something
// else of them, that may well be true; but what was said once isn't taken back. So its
// record says what was printed, and the row how it came out.

// told is what a house says of a run that has a row, as far as that goes.
func (f *Front) told(ctx context.Context, p paddock.Principal, id paddock.RunID, at place, run paddock.Run, err error) (paddock.Run, error) {
	if isHidden(err) || isAway(err) {
		return at.run, nil
	}
	if err != nil || at.row == nil {
		return run, err
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

// ours is what is known of a run in the directory here.
func (f *Front) ours(ctx context.Context, id paddock.RunID, run paddock.Run) (paddock.Run, error) {
	if !f.cfg.Shared || !run.State.Settled() {
		return run, nil
	}
	row, err := f.cfg.Runs.Run(ctx, store.Everyone(), id)
	if errors.Is(err, store.ErrNotFound) {
		return run, nil // it never was in the queue
	}
	if err != nil {
		return run, err
	}
	return rows.Settled(f.record(row), run), nil
}
