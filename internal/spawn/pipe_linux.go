package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what Linux gives to ordinary users at most; the larger the pipe,
// the fewer times a program waits for us (see docs/design/0002-starting-a-program.md).
const pipeSize = 1 << 20

// NoInput returns what a program reads that has no standard input. Nobody here reads it,
// so nobody asks whether it can be waited for.
func NoInput() (*os.File, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	return os.NewFile(uintptr(fd), os.DevNull), nil
}

// OutputPipe returns the two ends of a pipe for a program's output. Only our
// end is non-blocking: programs don't expect that of theirs.
func OutputPipe() (ours, theirs *os.File, err error) {
	r, w, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	// A smaller pipe than hoped for is slower, not wrong.
	_, _ = unix.FcntlInt(uintptr(w), unix.F_SETPIPE_SZ, pipeSize)
	return nonblocking(r), os.NewFile(uintptr(w), "output"), nil
}

// InputPipe returns the two ends of a pipe for a program's input.
func InputPipe() (ours, theirs *os.File, err error) {
	r, w, err := pipe()
	if err != nil {
		return nil, nil, err
	}
	return nonblocking(w), os.NewFile(uintptr(r), "input"), nil
}

func pipe() (r, w int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return 0, 0, fmt.Errorf("pipe: %w", err)
	}
	return fds[0], fds[1], nil
}

func nonblocking(fd int) *os.File {
	// It can't fail on a descriptor that was just made; if it did, reads and
	// writes would block a thread each instead.
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "pipe")
}

// Buffered returns how many bytes are in a pipe now, as far as can be known.
func Buffered(f *os.File) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) // zero if it fails
	})
	return n
}

// Capacity returns how many bytes a pipe holds, as far as can be known. The kernel gives
// an account that has many only small ones.
func Capacity(f *os.File) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		n, _ = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0) // zero or less if it fails
	})
	return n
}

// Arrived waits until something is in a pipe, and returns how many bytes: io.EOF
// says that nothing will come any more, os.ErrDeadlineExceeded that nothing came in
// time.
func Arrived(f *os.File) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	readErr := raw.Read(func(fd uintptr) bool {
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		if err == nil && n == 0 && hungUp(int(fd)) {
			// Once more: what came before the end may have come after the first look.
			if n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil && n == 0 {
				err = io.EOF
			}
		}
		return n > 0 || err != nil
	})
	return n, errors.Join(readErr, err)
}

// hungUp reports whether nobody holds a pipe's other end.
func hungUp(fd int) bool {
	for {
		poll := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 && poll[0].Revents&unix.POLLHUP != 0
		}
	}
}

// ReadReady reads what is in a pipe now, deadline or not: io.EOF says that
// nobody holds its other end, EAGAIN that somebody does and wrote nothing.
func ReadReady(f *os.File, b []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		for {
			if n, err = unix.Read(int(fd), b); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	switch {
	case controlErr != nil:
		return 0, controlErr
	case err != nil:
		return 0, err
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}
