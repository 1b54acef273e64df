package executor

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"paddock"
	"paddock/internal/executor/changes"
	"paddock/internal/rundir"
)

// An Unreadable error tells of runs that a listing had to leave out; what it
// came with is valid.
type Unreadable = rundir.Unreadable

// List returns up to limit runs that keep accepts, newest first, of those made
// before the run before (all, when that is empty). next is the before of the
// following page; empty when no run is left. Runs that can't be read are left
// out and told of by an error of type *[Unreadable].
func (e *Executor) List(ctx context.Context, before paddock.RunID, limit int, keep func(paddock.Run) bool) (runs []paddock.Run, next paddock.RunID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	return e.state.List(before, limit, keep)
}

// Active returns the runs that aren't settled, oldest first.
func (e *Executor) Active(ctx context.Context) ([]paddock.Run, error) {
	ids, err := e.state.ListActive()
	if err != nil {
		return nil, err
	}
	var runs []paddock.Run
	var broken []error
	for _, id := range ids {
		run, err := e.Run(ctx, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			broken = append(broken, err)
		case !run.State.Settled():
			runs = append(runs, run)
		}
	}
	if broken != nil {
		return runs, &Unreadable{Runs: broken}
	}
	return runs, nil
}

// ListActive is List for runs that aren't settled. Its cost depends on how many
// those are and not on how many there have been.
func (e *Executor) ListActive(ctx context.Context, before paddock.RunID, limit int, keep func(paddock.Run) bool) (runs []paddock.Run, next paddock.RunID, err error) {
	active, err := e.Active(ctx)
	slices.Reverse(active)
	for _, run := range active {
		if before != "" && run.ID >= before || !keep(run) {
			continue
		}
		if len(runs) == limit {
			return runs, runs[limit-1].ID, err
		}
		runs = append(runs, run)
	}
	return runs, "", err
}

// Count returns how many of p's runs go on, and how many are settled without p
// having been given their end.
func (e *Executor) Count(ctx context.Context, p paddock.Principal) (running, finished int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	return e.state.Unseen(p)
}

// Seen notes that p was given the end of its run.
func (e *Executor) Seen(p paddock.Principal, id paddock.RunID) error {
	return e.state.MarkSeen(p, id)
}

// Kept is what was written down about a run beside its record, and where what
// it changed is dealt with.
type Kept = changes.Desk

// Kept returns what was written down about a run. [fs.ErrNotExist] means that
// there is no such run.
func (e *Executor) Kept(ctx context.Context, id paddock.RunID) (Kept, error) {
	run, err := e.Run(ctx, id)
	if err != nil {
		return Kept{}, err
	}
	dir, err := e.state.Run(id)
	return Kept{Dir: dir, State: e.state, Run: run, Now: e.cfg.Now}, err
}
