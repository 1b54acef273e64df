package kernfs

import (
	"errors"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Read returns the content of a file.
func Read(name string) (_ []byte, err error) {
	fd, err := open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	b := make([]byte, 0, 4096)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		case n == 0:
			return b, nil
		default:
			b = slices.Grow(b[:len(b)+n], 1024)
		}
	}
}

// Write writes text to a file that is there, in one call: the kernel takes it as a
// whole or not at all. It is neither made nor cut.
func Write(name, text string) (err error) {
	fd, err := open(name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	for {
		n, err := unix.Write(fd, []byte(text))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil && n < len(text):
			err = io.ErrShortWrite
		}
		if err != nil {
			return &os.PathError{Op: "write", Path: name, Err: err}
		}
		return nil
	}
}

func open(name string, flags int) (int, error) {
	for {
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return -1, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return fd, nil
	}
}
