package executor

import (
	"context"

	"paddock"
	"paddock/internal/executor/changes"
	"paddock/internal/executor/deposit"
	"paddock/internal/rundir"
)

type ( // of listings: an error that tells of runs that were left out, and which are wanted
	Unreadable = rundir.Unreadable
	Wanted     = rundir.Wanted
)

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
