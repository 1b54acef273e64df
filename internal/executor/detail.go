package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"paddock"
	"paddock/internal/egress"
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

// Connections returns what the run's proxy decided; nil for a run without one.
// The file is bounded by who writes it; a last line that isn't whole, as a crash
// leaves it, is left out.
func (e *Executor) Connections(ctx context.Context, id paddock.RunID) (all []egress.Entry, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := e.state.Run(id)
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenConnections()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := json.NewDecoder(io.LimitReader(f, maxConnections)); ; {
		var entry egress.Entry
		err := lines.Decode(&entry)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("the connections of run %s: %w", id, err)
		}
		all = append(all, entry)
	}
}

// maxConnections is more than a supervisor writes.
const maxConnections = 2 << 20
