package executor

import (
	"context"
	"os"

	"paddock"
	"paddock/internal/rundir"
)

// Kept is what was written down about a run beside its record.
type Kept interface {
	Sealed() (rundir.Sealed, error)
	OpenConnections() (*os.File, error)
}

// Kept returns what was written down about a run. [fs.ErrNotExist] means that
// there is no such run.
func (e *Executor) Kept(ctx context.Context, id paddock.RunID) (Kept, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return e.state.Run(id)
}
