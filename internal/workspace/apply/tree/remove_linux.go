package tree

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Remove removes the tree at name, an absolute path below which everything is
// ours. Neither permissions that keep even the owner out nor the depth of the
// tree keep it from that: what lies deep is moved up first.
func Remove(name string) error { return remove(endless, name) }

// RemoveWithin is Remove that stops when ctx ends, and says so. What is gone by then is
// gone; removing again goes on with the rest.
func RemoveWithin(ctx context.Context, name string) error { return remove(ctx.Err, name) }

func endless() error { return nil }

func remove(over func() error, name string) error {
	parent, err := os.OpenFile(filepath.Dir(name), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	return named(removeAt(over, parent, filepath.Base(name)), name)
}

// RemoveAt is Remove for the entry base of an open directory.
func RemoveAt(parent *os.File, base string) error {
	return removeAt(endless, parent, base)
}

func removeAt(over func() error, parent *os.File, base string) error {
	gone, err := unlink(parent, base)
	if err != nil || gone {
		return err
	}
	top, err := enter(parent, base)
	if err != nil {
		return err
	}
	defer top.Close()
	for moved := 0; ; {
		left, err := empty(over, top, top, &moved)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
	}
	return unix.Unlinkat(int(parent.Fd()), base, unix.AT_REMOVEDIR)
}

func named(err error, name string) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "remove", Path: name, Err: err}
}

// unlink removes what isn't a directory, or is an empty one.
func unlink(dir *os.File, base string) (gone bool, err error) {
	err = unix.Unlinkat(int(dir.Fd()), base, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		err = unix.Unlinkat(int(dir.Fd()), base, unix.AT_REMOVEDIR)
	}
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return true, nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
		return false, nil
	}
	return false, err
}

// enter opens the directory base of dir and lets its owner do anything there.
func enter(dir *os.File, base string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath}
	fd, err := unix.Openat2(int(dir.Fd()), base, &how)
	if err != nil {
		return nil, err
	}
	// By descriptor, so that a link that takes its place isn't followed.
	err = os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
	if err := errors.Join(err, unix.Close(fd)); err != nil {
		return nil, err
	}
	how.Flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if fd, err = unix.Openat2(int(dir.Fd()), base, &how); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), base), nil
}

// empty removes what is in dir, one look long. A directory below that isn't
// empty is moved into top, or, if dir is top, is emptied by the same means; it
// returns how many entries are left to look at again.
func empty(over func() error, dir, top *os.File, moved *int) (left int, err error) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	for _, base := range names {
		if err := over(); err != nil {
			return left, err
		}
		gone, err := unlink(dir, base)
		if err != nil {
			return left, err
		}
		if gone {
			continue
		}
		left++
		sub, err := enter(dir, base)
		if err != nil {
			return left, err
		}
		if dir == top {
			_, err = empty(over, sub, top, moved)
		} else {
			*moved++
			err = unix.Renameat2(int(dir.Fd()), base, int(top.Fd()), ".moved-"+strconv.Itoa(*moved), unix.RENAME_NOREPLACE)
			if errors.Is(err, unix.EEXIST) {
				err = nil // the next look takes another number
			}
		}
		if err := errors.Join(err, sub.Close()); err != nil {
			return left, err
		}
	}
	return left, nil
}
