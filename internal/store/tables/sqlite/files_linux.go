package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"paddock/internal/store"
	"paddock/internal/trust"
)

// prepare sees to it that the file is there and that only we can get at it. Until
// the returned function is called, nobody else opens it by Open.
func prepare(path string) (release func() error, err error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%w: %q isn't an absolute path", store.ErrInvalid, path)
	}
	place, err := trust.User().MakeDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrOpen, err)
	}
	if err := place.File.Close(); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := errors.Join(ours(f), f.Close()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock.Close, nil // which lets go of the lock
}

// prepareOld looks at a file that must be there already.
func prepareOld(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ours(f), f.Close()); err != nil {
		return nil, err
	}
	return func() error { return nil }, nil
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// ours says why others could get at what is in f.
func ours(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%w: %s isn't a file", store.ErrOpen, f.Name())
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%w: %s is of user %d", store.ErrOpen, f.Name(), st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%w: %s can be read or changed by others (mode %04o); chmod 600 it", store.ErrOpen, f.Name(), st.Mode&0o777)
	case st.Nlink != 1:
		return fmt.Errorf("%w: %s has another name somewhere", store.ErrOpen, f.Name())
	}
	return nil
}

func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func removeFile(path string) error { return os.Remove(path) }

// syncFile brings a file and its name to the disk.
func syncFile(path string) error {
	for _, name := range []string{path, filepath.Dir(path)} {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
