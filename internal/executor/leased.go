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
	id     paddock.RunID
	until  time.Duration
	beside bool // as StartBeside says
}

// StartBeside is Start of one of two runs that are made of one question, for who asks again by Start
// whatever of it is refused, if the other one doesn't answer it: that there is no room for both is
// no refusal of who wanted one, so it isn't written down.
func (e *Executor) StartBeside(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	return e.with(ctx, e.judge, req, terms{beside: true})
}

// silent reports whether a refusal may be of two runs at once, and isn't one of who asks.
func (t terms) silent(r *paddock.Refusal) bool {
	return t.beside && (r.Code == paddock.Busy || r.Code == paddock.QuotaExceeded)
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
func (e *Executor) named(t terms) (paddock.RunID, error) {
	if t.id == "" {
		return paddock.NewRunID(e.cfg.Now(), nil)
	}
	return t.id, e.Leases.Take(t.id, t.until)
}
