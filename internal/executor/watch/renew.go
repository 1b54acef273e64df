package watch

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"paddock/internal/control"
	"paddock/internal/rundir"
)

// Renew tells a leased run's supervisor until when the run may go on. That there is no
// supervisor is no error: the run is over, or hasn't begun.
func (h *Hub) Renew(ctx context.Context, dir *rundir.Dir, until time.Duration) error {
	h.mu.Lock()
	r := h.runs[dir.ID()]
	h.mu.Unlock()
	var client *control.Client
	if r != nil {
		client = r.Client()
	} else {
		r = &Run{dir: dir}
	}
	if client == nil {
		own, err := r.dial(ctx)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		if err != nil {
			return err
		}
		defer own.Close()
		client = own
	}
	err := client.Renew(ctx, until)
	var answer *control.Error
	if err != nil && !errors.As(err, &answer) && ctx.Err() == nil {
		return nil // it went away meanwhile; whoever looks after the run sees how it ended
	}
	return err
}
