// Package calls has the small acts that attempts are made of.
//
// # Limits
//
// Nothing here knows what is promised.
package calls

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
)

// Open reports whether path can be opened, and leaves it alone.
func Open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// Read reads a file that has something in it.
func Read(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		return attempt.ErrHeld
	}
	return err
}

// Append opens a file for writing, and writes nothing.
func Append(path string) error { return Open(path, unix.O_WRONLY|unix.O_APPEND) }

// List lists a directory. Names below /dev can be listed at standard, which promises
// nothing of names, so who has targets only there learns nothing.
func List(path string) error {
	if strings.HasPrefix(path, "/dev/") {
		return attempt.ErrUntried
	}
	_, err := os.ReadDir(path)
	return err
}

// Busy takes it for success that a file can't be changed only because it is being
// executed.
func Busy(err error) error {
	if errors.Is(err, unix.ETXTBSY) {
		return nil
	}
	return err
}

// Answered is nil unless a call was refused: that it made no sense of what it was
// asked means that it was let in.
func Answered(errno unix.Errno) error {
	switch errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ESRCH:
		return errno
	}
	return nil
}

// Let is Answered for calls that have a wrapper.
func Let(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return Answered(errno)
	}
	return err
}

// On makes a deed that goes for one thing, if that is there.
func On(target func(attempt.Targets) string, do func(target string) error) attempt.Deed {
	return func(t attempt.Targets) error {
		if it := target(t); it != "" {
			return do(it)
		}
		return attempt.ErrUntried
	}
}

// Outside is a file in the directory outside.
func Outside(name string) func(attempt.Targets) string {
	return func(t attempt.Targets) string {
		if t.Outside == "" {
			return ""
		}
		return t.Outside + "/" + name
	}
}

// Terminal tries something on a terminal of its own.
func Terminal(try func(fd int) unix.Errno) error {
	signal.Ignore(unix.SIGHUP) // which it brings when it goes
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_CLOEXEC, 0) // it becomes ours
	if err != nil {
		return err
	}
	defer unix.Close(slave)
	if errno := try(slave); errno != 0 {
		return errno
	}
	return nil
}
