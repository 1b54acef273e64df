//go:build unix

package journal

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Guarded makes opening a link fail, and opening a fifo not wait.
const Guarded = unix.O_NOFOLLOW | unix.O_NONBLOCK

// Lock takes the lock f, for one process alone if it is exclusive. It asks again
// and again, since a thread that waits in the kernel for a lock can't be called
// back.
func Lock(ctx context.Context, f *os.File, exclusive bool) error {
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	const shortest, longest = 50 * time.Microsecond, 2 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := unix.Flock(int(f.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}

// Unlock lets go of a lock for all who share the open file.
func Unlock(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return &os.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}
