package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/control"
	"paddock/internal/rundir"
)

// An Ending says how a run is to be ended and why.
type Ending struct {
	// Kind is ReasonKill (also when empty), ReasonAbort or ReasonShutdown.
	Kind paddock.ReasonKind
	// Signal is TERM (also when empty), INT, HUP or KILL. All but KILL are
	// followed by KILL after the grace period.
	Signal string
	// By is the principal id, and Why the words, of who asks.
	By, Why string
	// NoWait returns once the supervisor was told.
	NoWait bool
}

// Tell asks for the end and reports whether the supervisor took note. A connection
// that breaks isn't an error: the supervisor is asked again, or found gone.
func (r *Run) Tell(ctx context.Context, end Ending) (bool, error) {
	client := r.Client()
	if client == nil {
		return false, nil
	}
	err := client.Kill(ctx, control.Kill{Kind: end.Kind, Signal: end.Signal, By: end.By, Why: end.Why})
	var answer *control.Error
	if errors.As(err, &answer) {
		return false, err
	}
	return err == nil, nil
}

// End tells the run's supervisor to end it, and returns when it is settled, or after
// patience. One that doesn't answer is ended itself, by KILL.
func (h *Hub) End(ctx context.Context, dir *rundir.Dir, end Ending, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	told := false
	err := h.Await(limited, dir, func(w *Run) (bool, error) {
		outcome, err := dir.Outcome()
		if outcome != nil || err != nil {
			return true, err
		}
		if !told {
			if told, err = w.Tell(limited, end); err != nil {
				return false, fmt.Errorf("run %s: %w", dir.ID(), err)
			}
		}
		return told && end.NoWait, nil
	})
	switch {
	case err == nil:
	case ctx.Err() != nil || limited.Err() == nil:
		return err
	case !told && end.Signal == "KILL":
		return h.Overrule(ctx, dir, patience)
	case !told:
		return Silent(dir)
	}
	return nil
}

// Settled returns when the run is settled. Where its supervisor is heard, the
// journal knows by then, too: it is told between the outcome and us.
func (h *Hub) Settled(ctx context.Context, dir *rundir.Dir) error {
	return h.Await(ctx, dir, func(r *Run) (bool, error) {
		if _, goes := r.quiet(); goes {
			return false, nil
		}
		if dir.Told() {
			return true, nil
		}
		over, err := dir.Over()
		if !over || err != nil || r.Client() == nil {
			return over, err
		}
		return dir.Noted() // or the supervisor ends, and isn't heard any more
	})
}

// Begun returns when the run's program has started, or the run is settled.
func (h *Hub) Begun(ctx context.Context, dir *rundir.Dir) error {
	return h.Await(ctx, dir, func(r *Run) (bool, error) {
		if r.Begun() {
			return true, nil
		}
		if starts, _ := r.quiet(); starts {
			return false, nil
		}
		started, err := dir.Started() // not the whole record, as often as something happens
		if started != nil || err != nil {
			return err == nil, err
		}
		return dir.Over()
	})
}
