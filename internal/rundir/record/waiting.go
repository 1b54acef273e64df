package record

import (
	"errors"
	"path/filepath"

	"paddock/internal/rundir/record/durable"
)

// waitingFile is there while a run waits for approval: from its making until, under
// the claim, somebody has found it approved. Whoever looks after it has its lock.
const waitingFile = "waiting"

// Waits says whether the run waits for approval, unless it is settled.
func (d *Dir) Waits() (bool, error) { return durable.Exists(d.file(waitingFile)) }

// Proceed notes that the run waits no more and is about to start. Only one who has
// the claim and the run's lock may.
func (d *Dir) Proceed() error {
	return errors.Join(durable.Remove(d.file(waitingFile)), durable.SyncDir(filepath.Clean(d.path)))
}
