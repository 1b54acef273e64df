//go:build unix

package durable

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// NoFollow makes opening a link fail, and not wait for a pipe. Package os asks of a file
// that may wait four times more how it is to be read.
const NoFollow = unix.O_NOFOLLOW | unix.O_NONBLOCK

// OpenFile is [os.OpenFile] of what nobody waits for: it isn't tried whether one could,
// which takes four calls more.
func OpenFile(name string, flags int, mode os.FileMode) (*os.File, error) {
	var fd int
	var err error
	again(func() error {
		fd, err = unix.Open(name, flags|unix.O_CLOEXEC, uint32(mode.Perm()))
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(name string) error {
	f, err := OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(sync(f), f.Close())
}

// read returns a regular file's content; of one that is longer than most, more than that. It
// asks the kernel itself: an [os.File] first finds out whether it can be waited
// for, in as many calls again.
func read(name string, most int64) (_ []byte, err error) {
	var fd int
	again(func() error {
		fd, err = unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|NoFollow, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s isn't a regular file", name)
	}
	b := make([]byte, 0, min(st.Size, most)+1) // with room to see that there is no more
	for int64(len(b)) <= most {
		if len(b) == cap(b) {
			b = slices.Grow(b, 512)
		}
		var n int
		again(func() error {
			n, err = unix.Read(fd, b[len(b):cap(b)])
			return err
		})
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		}
		b = b[:len(b)+n]
		if len(b) < cap(b) { // of a regular file less is given at its end only
			break
		}
	}
	return b, nil
}

// again calls until no signal comes in between.
func again(call func() error) {
	for errors.Is(call(), unix.EINTR) {
		continue
	}
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
