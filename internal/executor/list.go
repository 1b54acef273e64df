package executor

import (
	"context"

	"paddock"
	"paddock/internal/executor/changes"
	"paddock/internal/executor/deposit"
	"paddock/internal/executor/roster"
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
func (e *Executor) Active(ctx context.Context) ([]paddock.Run, error) { return e.roster().Active(ctx) }

// ListActive is List for runs that aren't settled. Its cost depends on how many
// those are and not on how many there have been.
func (e *Executor) ListActive(ctx context.Context, before paddock.RunID, limit int, keep func(paddock.Run) bool) (runs []paddock.Run, next paddock.RunID, err error) {
	return e.roster().Newest(ctx, before, limit, keep)
}

func (e *Executor) roster() roster.Roster { return roster.Roster{State: e.state, Run: e.Run} }

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

// Bank keeps what p gives, as the record of a run that no program made: see
// package deposit. A refusal is a [*paddock.Refusal].
func (e *Executor) Bank(ctx context.Context, p paddock.Principal, door paddock.Door, label string, payload []byte) (paddock.Run, error) {
	if err := e.life.Err(); err != nil {
		return paddock.Run{}, ErrClosed
	}
	return deposit.Desk{State: e.state, Notes: e.notes, Policy: e.cfg.Policy.Load, Now: e.cfg.Now}.Bank(ctx, p, door, label, payload)
}
