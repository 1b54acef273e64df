package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/control"
	"paddock/internal/rundir"
)

// Tell reports whether the supervisor took note. A connection that breaks isn't
// an error: the supervisor is asked again, or found gone.
func (r *Run) Tell(ctx context.Context, kill control.Kill) (bool, error) {
	client := r.Client()
	if client == nil {
		return false, nil
	}
	err := client.Kill(ctx, kill)
	var answer *control.Error
	if errors.As(err, &answer) {
		return false, err
	}
	return err == nil, nil
}

// Overrule ends a supervisor that doesn't answer, and by that its run, and has the
// run settled as lost within patience: nobody is left who could say how it ended.
func (h *Hub) Overrule(ctx context.Context, dir *rundir.Dir, patience time.Duration) error {
	started, err := dir.Started()
	if err != nil || started == nil {
		return Silent(dir)
	}
	if err := KillVerified(started.Supervisor); err != nil {
		return fmt.Errorf("run %s: end its supervisor: %w", dir.ID(), err)
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return h.Await(limited, dir, func(*Run) (bool, error) {
		outcome, err := dir.Outcome()
		return outcome != nil, err
	})
}
