package account

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/rundir"
	"paddock/internal/workspace/apply/tree/quarantine"
)

// reserveSize is enough for an outcome and the directory entries it needs.
const reserveSize = 64 << 10

// Reserve takes the room on the disk that the outcome will need, so that a run
// which fills the disk can still be settled.
func Reserve(dir *rundir.Dir) error {
	f, err := os.OpenFile(filepath.Join(dir.Path(), "reserve"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	// To be given the room takes a third of what it takes to fill it.
	if err = unix.Fallocate(int(f.Fd()), 0, 0, reserveSize); errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		_, err = f.Write(make([]byte, reserveSize))
	}
	return errors.Join(err, f.Close())
}

// Publish writes the outcome, in the room that was reserved for it if need be.
// The disk may be full for a moment only, so it is tried for some seconds;
// without an outcome the next user of the state directory calls the run lost.
// Then the journal at path is told, before anybody hears that the run is settled.
func Publish(ctx context.Context, path string, dir *rundir.Dir, outcome paddock.Outcome, now func() time.Time, after func(time.Duration) <-chan time.Time) error {
	err := os.Remove(filepath.Join(dir.Path(), "reserve"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil // the run ended before it took any room
	}
	for range 10 {
		var publishErr error
		var first bool
		failpoint.Here("outcome/publish")
		if first, publishErr = dir.PublishOutcome(outcome); publishErr == nil {
			failpoint.Here("outcome/published")
			if first {
				err = errors.Join(err, End(ctx, path, dir, outcome, now), quarantine.Forget(dir.Path()))
			} else {
				err = errors.Join(err, Later(ctx, path, dir, outcome, now))
			}
			failpoint.Here("outcome/told")
			return err
		}
		err = publishErr
		<-after(500 * time.Millisecond)
	}
	return fmt.Errorf("the outcome can't be written: %w", err)
}
