// Package rough has the attempts that would do harm where nothing holds: only tests
// make them, from inside of runs that are held.
//
// # Limits
//
// Nothing that is shipped links this package.
package rough

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
)

// Deeds returns them by the names of [attempt.List].
func Deeds() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"unmount":          func(attempt.Targets) error { return unix.Unmount("/tmp", unix.MNT_DETACH) },
		"bind a directory": func(t attempt.Targets) error { return unix.Mount("/", t.Root, "", unix.MS_BIND|unix.MS_REC, "") },
		"remount writable": func(attempt.Targets) error { return unix.Mount("none", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"end the holder": func(attempt.Targets) error {
			// To be here to tell means that it didn't work, or isn't allowed to.
			if err := unix.Kill(1, unix.SIGKILL); err != nil {
				return err
			}
			return attempt.ErrHeld
		},
		"reach the metadata address":       func(attempt.Targets) error { return dial("tcp4", "169.254.169.254:80") },
		"reach an address outside":         func(attempt.Targets) error { return dial("tcp4", "192.0.2.1:53") },
		"send a DNS question outside":      func(attempt.Targets) error { return dial("udp4", "192.0.2.1:53") },
		"exchange its own executable":      func(t attempt.Targets) error { return exchange(t.Root) },
		"race a link against the boundary": func(t attempt.Targets) error { return race(t.Root, t.Outside) },
	}
}

// exchange puts another file in the place of the program that does it.
func exchange(root string) error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	other := filepath.Join(root, "other-program")
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755); err != nil {
		return err
	}
	return unix.Renameat2(unix.AT_FDCWD, other, unix.AT_FDCWD, program, unix.RENAME_EXCHANGE)
}

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("hello"))
	return err
}

// rounds is how often the boundary is gone for while it is raced.
const rounds = 2000

// race exchanges a directory with a link to the outside while it makes, reads, links
// and moves files below that name.
func race(root, outside string) error {
	dir, link := filepath.Join(root, "race"), filepath.Join(root, "race-link")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.Symlink(outside, link); err != nil {
		return err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	}()
	won, refused := false, error(nil)
	note := func(err error) {
		if err == nil {
			won = true
		} else if !errors.Is(err, os.ErrNotExist) {
			refused = err
		}
	}
	for i := range rounds {
		// Some land in the directory, some meet the link.
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprint("raced", i%10)), nil, 0o600)
		_, err := os.ReadFile(filepath.Join(dir, "secret"))
		note(err)
		note(os.Link(filepath.Join(dir, "secret"), filepath.Join(root, fmt.Sprint("linked", i))))
		note(os.Rename(filepath.Join(dir, "movable"), filepath.Join(root, fmt.Sprint("taken", i))))
	}
	close(stop)
	<-stopped
	for _, name := range []string{dir, link} { // one of them is the link
		_, err := os.ReadFile(filepath.Join(name, "secret"))
		note(err)
	}
	if won {
		return nil
	}
	return errors.Join(attempt.ErrHeld, refused)
}
