// Package waiting marks the directory of a run that waits for approval.
//
// # Limits
//
// It knows only the mark: whether a run with one is settled, its outcome says.
package waiting

import (
	"errors"
	"path/filepath"

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
