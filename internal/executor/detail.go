package executor

import (
	"context"

	"paddock"
	"paddock/internal/rundir"
)

// Sealed returns what a run was asked and granted to be. [fs.ErrNotExist] means
// that there is no such run.
func (e *Executor) Sealed(ctx context.Context, id paddock.RunID) (rundir.Sealed, error) {
	if err := ctx.Err(); err != nil {
		return rundir.Sealed{}, err
	}
	dir, err := e.state.Run(id)
	if err != nil {
		return rundir.Sealed{}, err
	}
	return dir.Sealed()
}
