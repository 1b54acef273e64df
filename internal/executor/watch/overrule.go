package watch

import (
	"context"
	"fmt"
	"time"

	"paddock/internal/rundir"
)

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
