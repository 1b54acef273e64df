package executor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"paddock"
)

// terms are what a start has beside the request.
type terms struct {
	sink, door *os.File
	// id and until are of a leased run; an empty id is made here.
	id    paddock.RunID
	until time.Duration
}

// StartLeased is Start of a run that has its id already, for a lease that lasts until
// that time of the boot clock. A directory that is there already is [fs.ErrExist].
func (e *Executor) StartLeased(ctx context.Context, id paddock.RunID, until time.Duration, req paddock.Request) (paddock.Run, error) {
	if _, err := e.state.Run(id); err == nil {
		return paddock.Run{}, fmt.Errorf("run %s: %w", id, fs.ErrExist)
	}
	return e.with(ctx, e.judge, req, terms{id: id, until: until})
}

// Extend lets a leased run go on until that time of the boot clock.
func (e *Executor) Extend(ctx context.Context, id paddock.RunID, until time.Duration) error {
	e.Leases.Extend(id, until)
	dir, err := e.state.Run(id)
	if err != nil {
		return err
	}
	return e.hub.Renew(ctx, dir, until)
}

// named is the id of the run to be. That it is leased is written down before it is there.
func (e *Executor) named(now time.Time, t terms) (paddock.RunID, error) {
	if t.id == "" {
		return paddock.NewRunID(now, nil)
	}
	return t.id, e.Leases.Take(t.id, t.until)
}
