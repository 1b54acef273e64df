//go:build linux

package testproc

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Unlocked returns when nobody holds the lock of any file that the pattern
// matches. Supervisors hold those of their runs and write to the state directory
// until they end: what is written to can't be removed.
func Unlocked(pattern string) error {
	names, err := filepath.Glob(pattern)
	for _, name := range names {
		err = errors.Join(err, unlocked(name))
	}
	return err
}

func unlocked(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return errors.Join(err, f.Close())
		}
	}
}
