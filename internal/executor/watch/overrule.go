package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"paddock"
	"paddock/internal/rundir"
)

// Overrule ends a supervisor that doesn't answer, and by that its run, and returns when
// the run is settled as lost, or after patience: nobody is left who could say how it ended.
func (h *Hub) Overrule(ctx context.Context, dir *rundir.Dir, patience time.Duration) error {
	if err := h.destroy(dir); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := h.Await(limited, dir, func(*Run) (bool, error) {
		outcome, err := dir.Outcome()
		return outcome != nil, err
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil // it is ended, and will be settled
	}
	return err
}

// destroy ends the supervisor of dir's run. Who started it needs no record of it: a supervisor
// writes that when it starts its program, and may have been stopped before.
func (h *Hub) destroy(dir *rundir.Dir) error {
	var err error
	if ours := h.destroyer(dir.ID()); ours != nil {
		if err = ours(); errors.Is(err, os.ErrProcessDone) { // then the run is being settled
			return nil
		}
	} else {
		started, unread := dir.Started()
		if unread != nil || started == nil {
			return Silent(dir)
		}
		err = KillVerified(started.Supervisor)
	}
	if err != nil {
		return fmt.Errorf("run %s: end its supervisor: %w", dir.ID(), err)
	}
	return nil
}

// destroyer ends the supervisor of the run at once; nil where we didn't start it, or no longer
// look after it.
func (h *Hub) destroyer(id paddock.RunID) func() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[id]; r != nil {
		return r.destroy
	}
	return nil
}
