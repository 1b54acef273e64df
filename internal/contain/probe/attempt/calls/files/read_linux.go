// Package files has the attempts on files: to read what lies outside, and to change
// that or what is protected.
//
// # Limits
//
// Like all attempts, they are harmless when they succeed.
package files

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/calls"
)

// Deeds returns them by name.
func Deeds() map[string]attempt.Deed {
	all := read()
	for _, more := range []map[string]attempt.Deed{own(), outsideFiles(), protected()} {
		maps.Copy(all, more)
	}
	return all
}

// read are attempts to get at what lies outside.
func read() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"read a file outside":                calls.On(calls.Outside("secret"), calls.Read),
		"read what only root may":            calls.On(func(t attempt.Targets) string { return t.RootOnly }, calls.Read),
		"read a private key in the home":     calls.On(func(t attempt.Targets) string { return t.Key }, calls.Read),
		"read the policy":                    calls.On(func(t attempt.Targets) string { return t.Policy }, calls.Read),
		"read another workspace":             calls.On(func(t attempt.Targets) string { return t.Neighbor }, calls.Read),
		"write to another workspace":         calls.On(func(t attempt.Targets) string { return t.Neighbor }, calls.Append),
		"read an earlier run's output":       calls.On(func(t attempt.Targets) string { return t.Output }, calls.Read),
		"read the journal":                   calls.On(func(t attempt.Targets) string { return t.Journal }, calls.List),
		"open a file of the state directory": calls.On(func(t attempt.Targets) string { return t.State }, func(path string) error { return calls.Open(path, unix.O_RDWR) }),
		"list the home":                      calls.On(func(t attempt.Targets) string { return t.Home }, calls.List),
		"see that a file exists":             calls.On(func(t attempt.Targets) string { return t.Key }, func(path string) error { _, err := os.Stat(path); return err }),
		"read a file in /tmp":                calls.On(func(t attempt.Targets) string { return t.Tmp }, calls.Read),
		"read a file in /dev/shm":            calls.On(func(t attempt.Targets) string { return t.Shm }, calls.Read),
		"write a file in /dev/shm":           calls.On(func(t attempt.Targets) string { return t.Shm }, calls.Append),
		"read /etc/shadow":                   func(attempt.Targets) error { return calls.Read("/etc/shadow") },
		"read a setting of the machine":      calls.On(func(t attempt.Targets) string { return t.Etc }, func(path string) error { return calls.Open(path, unix.O_RDONLY) }),
		"read through a parent of the root":  throughParent,
		"read through a link":                throughLink,
		"list the root directory's secrets": func(t attempt.Targets) error {
			if t.Outside == "" {
				return attempt.ErrUntried
			}
			if err := calls.List(filepath.Dir(t.Root)); err != nil {
				return err
			}
			_, err := os.Lstat(t.Outside)
			return err
		},
		"list the machine's private keys": func(attempt.Targets) error {
			err := calls.List("/etc/ssl/private")
			if errors.Is(err, os.ErrNotExist) {
				err = calls.List("/etc/pki/tls/private")
			}
			return err
		},
		"see the machine's users": calls.On(func(t attempt.Targets) string { return t.User }, func(name string) error {
			b, err := os.ReadFile("/etc/passwd")
			if err == nil && !strings.Contains("\n"+string(b), "\n"+name+":") {
				return attempt.ErrHeld
			}
			return err
		}),
	}
}

func throughParent(t attempt.Targets) error {
	if t.Outside == "" {
		return attempt.ErrUntried
	}
	rel, err := filepath.Rel(t.Root, t.Outside)
	if err != nil {
		return err
	}
	return calls.Read(rel + "/secret") // from where the program was started
}

func throughLink(t attempt.Targets) error {
	if t.Outside == "" {
		return attempt.ErrUntried
	}
	link := filepath.Join(t.Root, "link")
	defer os.Remove(link)
	if err := os.Symlink(filepath.Join(t.Outside, "secret"), link); err != nil {
		return err
	}
	return calls.Read(link)
}

// own are attempts to exchange the program that makes them.
func own() map[string]attempt.Deed {
	const self = "/proc/self/exe"
	return map[string]attempt.Deed{
		"replace its own executable": func(attempt.Targets) error {
			// The kernel refuses to change what is being executed, and says so
			// only to those who may write there at all.
			return calls.Busy(unix.Truncate(self, 1<<40))
		},
		// What is opened to read is changed by its descriptor, as who waits until nobody
		// executes it any more would do.
		"change its own executable by a descriptor": func(attempt.Targets) error { return reopen(self) },
	}
}

func reopen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return calls.Busy(unix.Truncate("/proc/self/fd/"+itoa(int(f.Fd())), 1<<40))
}
