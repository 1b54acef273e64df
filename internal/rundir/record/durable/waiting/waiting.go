// Package waiting marks the directory of a run that waits for approval.
//
// # Limits
//
// It knows only the mark: whether a run with one is settled, its outcome says.
package waiting

import (
	"errors"
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// Name is of the file that is there while a run waits for approval: from its making
// until, under the claim, somebody has found it approved. Whoever looks after it has
// its lock.
const Name = "waiting"

// Is says whether the run in dir waits for approval, unless it is settled.
func Is(dir string) (bool, error) { return durable.Exists(filepath.Join(dir, Name)) }

// End notes that the run waits no more and is about to start. Only one who has the
// claim and the run's lock may.
func End(dir string) error {
	return errors.Join(durable.Remove(filepath.Join(dir, Name)), durable.SyncDir(dir))
}

// State is that of the run in dir as long as it is neither started nor settled.
func State(dir string) (paddock.State, error) {
	waits, err := Is(dir)
	if waits {
		return paddock.Waiting, err
	}
	return paddock.Starting, err
}

// Gone makes what is found of a run that nobody looks after that of one that waited,
// if it did: it was nobody's to start any more, and so it can't have been.
func Gone(dir string, o *paddock.Outcome) {
	if waits, err := Is(dir); err == nil && waits {
		o.State, o.Reason.Kind, o.Reason.Detail = paddock.Killed, paddock.ReasonCallerGone, "whoever asked for it is gone, before it was approved"
	}
}
