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
	asked := false
	err := h.ask(ctx, dir, func(client *control.Client) error {
		asked = true
		return client.Renew(ctx, until)
	})
	var answer *control.Error
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil
	case err != nil && asked && !errors.As(err, &answer) && ctx.Err() == nil:
		return nil // it went away meanwhile; whoever looks after the run sees how it ended
	}
	return err
}
