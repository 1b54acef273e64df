// Package mounts tells when the machine's table of mounts has changed.
//
// # Limits
//
// It says that something was mounted, unmounted or mounted in another way, and not what:
// of the mount namespace that this process is in. Linux only.
package mounts

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A Table is that of this process's mount namespace. It serves one goroutine at a time.
type Table struct{ file *os.File }

const path = "/proc/self/mountinfo"

// Open returns the table as it is now.
func Open() (*Table, error) {
	// Each change is told once. By os.Open Go's poller would have it, too, and hear of some
	// in our place.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &Table{os.NewFile(uintptr(fd), path)}, nil
}

// Changed reports whether the table has changed since it was opened, or since this was
// last asked. What can't be told has changed.
func (t *Table) Changed() bool {
	changed, _ := t.await(nil, 0)
	return changed
}

// Await returns when the table has changed, when limit is over, unless that is negative,
// or when the other end of the pipe over is closed.
func (t *Table) Await(over *os.File, limit time.Duration) (changed, ended bool) {
	return t.await(over, limit)
}

func (t *Table) await(over *os.File, limit time.Duration) (changed, ended bool) {
	fds := []unix.PollFd{{Fd: int32(t.file.Fd()), Events: unix.POLLPRI}, {Fd: -1}}
	if over != nil {
		fds[1].Fd = int32(over.Fd())
	}
	milliseconds := -1
	if limit >= 0 {
		milliseconds = int(limit.Milliseconds())
	}
	for {
		_, err := unix.Poll(fds, milliseconds)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err != nil || fds[0].Revents != 0, fds[1].Revents != 0
	}
}

// Close lets go of it. Nil may be closed, too.
func (t *Table) Close() {
	if t != nil {
		_ = t.file.Close() // it was only read
	}
}
