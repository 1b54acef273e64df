// Package account tells the journal how a run ended. It is the only thing that a
// supervisor tells it.
//
// # Limits
//
// The outcome in the run's directory is the truth and comes first. When the
// journal can't be told, whoever uses the state directory next does it.
package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
)

// patience is how long others may hold the journal's lock.
const patience = 10 * time.Second

// End adds the end of the run to the journal at path, if there is one.
func End(ctx context.Context, path string, dir *rundir.Dir, o paddock.Outcome, now func() time.Time) error {
	if path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	started, err := dir.Started()
	if err != nil || started == nil {
		started = &rundir.Started{} // what can't be read isn't told
	}
	w, err := writer.Open(path, writer.Options{Now: now})
	if err == nil {
		err = w.Append(ctx, journal.EndOf(dir.ID(), o, &started.Enforced, started.Isolation, started.StageDigest))
		err = errors.Join(err, w.Close())
	}
	if err == nil {
		err = dir.MarkNoted()
	}
	if err != nil {
		return fmt.Errorf("the run's end isn't in the journal: %w", err)
	}
	return nil
}
