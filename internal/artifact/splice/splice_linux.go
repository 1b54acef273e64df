package splice

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Move moves at most n bytes from the pipe from to the position of the file to, and
// returns how many were. It waits for nothing to come: io.EOF says that nothing
// ever will, EAGAIN that nothing is there now. With any other error what wasn't
// moved is still in the pipe.
func Move(from, to *os.File, n int) (moved int, err error) {
	source, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}
	target, err := to.SyscallConn()
	if err != nil {
		return 0, err
	}
	outer := source.Control(func(in uintptr) {
		inner := target.Control(func(out uintptr) {
			moved, err = move(int(in), int(out), n)
		})
		err = errors.Join(err, inner)
	})
	return moved, errors.Join(err, outer)
}

func move(in, out, n int) (int, error) {
	for {
		moved, err := unix.Splice(in, nil, out, nil, n, unix.SPLICE_F_NONBLOCK)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case moved == 0 && n > 0:
			return 0, io.EOF
		default:
			return int(moved), nil
		}
	}
}
