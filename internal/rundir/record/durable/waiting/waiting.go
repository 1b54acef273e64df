// Package waiting marks the directory of a run that waits for approval.
//
// # Limits
//
// It knows only the mark, and not what is kept in it: whether a run with one is
// settled, its outcome says.
package waiting

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"paddock"
	"paddock/internal/rundir/record/durable"
)

// Name is of the file that is there while a run waits for approval: from its making
// until, under the claim, somebody has found it approved. Whoever looks after it has
// its lock. A run that lasts waits also when nobody does; then the file has what
// starting it takes, values of variables too, and is removed when it is over as well.
const Name = "waiting"

// mark is all that is in the file of a run that doesn't last.
const mark = 1

// Is says whether the run in dir waits for approval, unless it is settled.
func Is(dir string) (bool, error) { return durable.Exists(filepath.Join(dir, Name)) }

// Keep makes the run in dir one that lasts, to be started by what is kept. Only who
// prepares it may.
func Keep(dir string, kept []byte) error {
	return durable.Replace(filepath.Join(dir, Name), kept)
}

// Kept is what was kept.
func Kept(dir string) ([]byte, error) {
	return durable.Read(filepath.Join(dir, Name), durable.MaxJSON)
}

// Lasts says whether the run in dir waits, isn't settled, and needs nobody for that.
func Lasts(dir string) (bool, error) {
	info, err := os.Lstat(filepath.Join(dir, Name))
	if err != nil || !info.Mode().IsRegular() || info.Size() <= mark {
		return false, durable.IgnoreMissing(err)
	}
	settled, err := durable.Exists(filepath.Join(dir, "outcome.json"))
	return !settled, err
}

// Take takes the lock of a run that lasts; nil when somebody has it, or it doesn't
// wait any more. Who has it may start the run, and lets go of it otherwise.
func Take(dir string) (*os.File, error) {
	if lasts, err := Lasts(dir); err != nil || !lasts {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|durable.NoFollow|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, durable.IgnoreMissing(err)
	}
	got, err := durable.Lock(f)
	lasts := false
	if err == nil && got {
		lasts, err = Lasts(dir) // somebody may have started or settled it since we looked
	}
	if err != nil || !lasts {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// End notes that the run waits no more: that it is about to start, or is settled. Only
// one who has the claim may, and the run's lock unless it is settled.
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
