// Package ordinary does what honest programs do: what containment must leave
// alone as surely as it must prevent the rest.
//
// # Limits
//
// A deed that fails says which need isn't met, not why.
package ordinary

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt/calls"
)

// patience is how long an answer may take that comes from the same machine.
const patience = 10 * time.Second

// Deeds returns them by name. They are done in the workspace root.
func Deeds() map[string]func(root string) error {
	return map[string]func(root string) error{
		"use loopback inside": func(string) error {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			return talk(listener, "tcp", listener.Addr().String())
		},
		"use a socket inside": func(root string) error {
			path := filepath.Join(root, "own-socket")
			listener, err := net.Listen("unix", path)
			if err != nil {
				return err
			}
			return talk(listener, "unix", path)
		},
		"read its own executable":    func(string) error { return touch("/proc/self/exe", os.O_RDONLY) },
		"write to /tmp":              func(string) error { return roundTrip("/tmp") },
		"write to /var/tmp":          func(string) error { return roundTrip("/var/tmp") },
		"write to /dev/shm":          func(string) error { return roundTrip("/dev/shm") },
		"write to the root":          func(root string) error { return roundTrip(root) },
		"write to /dev/null":         func(string) error { return touch("/dev/null", os.O_WRONLY) },
		"lock a file":                lock,
		"have a terminal of its own": func(string) error { return calls.Terminal(func(int) unix.Errno { return 0 }) },
		"move between directories": func(root string) error {
			one, two := filepath.Join(root, "one"), filepath.Join(root, "two")
			if err := errors.Join(os.Mkdir(one, 0o755), os.Mkdir(two, 0o755), os.WriteFile(one+"/f", nil, 0o600)); err != nil {
				return err
			}
			return errors.Join(os.Rename(one+"/f", two+"/f"), os.Link(two+"/f", one+"/g"))
		},
		"make an executable file in memory": func(string) error {
			fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
		"make a pipe in a directory": func(root string) error { return unix.Mkfifo(filepath.Join(root, "pipe"), 0o600) },
	}
}

func talk(listener net.Listener, network, address string) error {
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = conn.Write([]byte("x"))
			err = errors.Join(err, conn.Close())
		}
		served <- err
	}()
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	_, err = io.ReadAll(conn)
	return errors.Join(err, <-served, conn.Close(), listener.Close())
}

func roundTrip(dir string) error {
	path := filepath.Join(dir, fmt.Sprint("paddock-escape-", os.Getpid()))
	return errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Remove(path))
}

// lock takes the locks that databases take.
func lock(root string) error {
	f, err := os.OpenFile(filepath.Join(root, "locked"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole); err != nil {
		return err
	}
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

func touch(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
