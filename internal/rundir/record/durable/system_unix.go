//go:build unix

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// NoFollow makes opening a link fail.
const NoFollow = unix.O_NOFOLLOW

// SyncDir makes the names in a directory durable.
func SyncDir(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(sync(f), f.Close())
}

// Lock takes an exclusive lock without waiting and says whether it got it.
func Lock(f *os.File) (bool, error) { return lock(f, unix.LOCK_EX) }

// LockShared takes a lock that others may share, for which f needn't be open to
// write.
func LockShared(f *os.File) (bool, error) { return lock(f, unix.LOCK_SH) }

func lock(f *os.File, how int) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
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
