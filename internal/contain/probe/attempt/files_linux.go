package attempt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// open reports whether path can be opened, and leaves it alone.
func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func reads(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		return ErrHeld
	}
	return err
}

// opens tries to open a file for writing, and writes nothing.
func opens(path string) error { return open(path, unix.O_WRONLY|unix.O_APPEND) }

// lists tries to list a directory. Names below /dev can be listed at standard, which
// promises nothing of names, so who has targets only there learns nothing.
func lists(path string) error {
	if strings.HasPrefix(path, "/dev/") {
		return ErrUntried
	}
	_, err := os.ReadDir(path)
	return err
}

// files are attempts to get at what lies outside.
func files() map[string]Deed {
	return map[string]Deed{
		"read a file outside":                on(outside("secret"), reads),
		"read what only root may":            on(func(t Targets) string { return t.RootOnly }, reads),
		"read a private key in the home":     on(theKey, reads),
		"read the policy":                    on(thePolicy, reads),
		"read another workspace":             on(theNeighbor, reads),
		"write to another workspace":         on(theNeighbor, opens),
		"read an earlier run's output":       on(func(t Targets) string { return t.Output }, reads),
		"read the journal":                   on(theJournal, lists),
		"open a file of the state directory": on(theState, func(path string) error { return open(path, unix.O_RDWR) }),
		"list the home":                      on(theHome, lists),
		"see that a file exists":             on(theKey, func(path string) error { _, err := os.Stat(path); return err }),
		"read a file in /tmp":                on(func(t Targets) string { return t.Tmp }, reads),
		"read a file in /dev/shm":            on(func(t Targets) string { return t.Shm }, reads),
		"write a file in /dev/shm":           on(func(t Targets) string { return t.Shm }, opens),
		"read /etc/shadow":                   func(Targets) error { return reads("/etc/shadow") },
		"read a setting of the machine":      on(func(t Targets) string { return t.Etc }, func(path string) error { return open(path, unix.O_RDONLY) }),
		"read through a parent of the root":  throughParent,
		"read through a link":                throughLink,
		"list the root directory's secrets": func(t Targets) error {
			if t.Outside == "" {
				return ErrUntried
			}
			if err := lists(filepath.Dir(t.Root)); err != nil {
				return err
			}
			_, err := os.Lstat(t.Outside)
			return err
		},
		"list the machine's private keys": func(Targets) error {
			err := lists("/etc/ssl/private")
			if errors.Is(err, os.ErrNotExist) {
				err = lists("/etc/pki/tls/private")
			}
			return err
		},
		"see the machine's users": on(func(t Targets) string { return t.User }, func(name string) error {
			b, err := os.ReadFile("/etc/passwd")
			if err == nil && !strings.Contains("\n"+string(b), "\n"+name+":") {
				return ErrHeld
			}
			return err
		}),
	}
}

func throughParent(t Targets) error {
	if t.Outside == "" {
		return ErrUntried
	}
	rel, err := filepath.Rel(t.Root, t.Outside)
	if err != nil {
		return err
	}
	return reads(rel + "/secret") // from where the program was started
}

func throughLink(t Targets) error {
	if t.Outside == "" {
		return ErrUntried
	}
	link := filepath.Join(t.Root, "link")
	defer os.Remove(link)
	if err := os.Symlink(filepath.Join(t.Outside, "secret"), link); err != nil {
		return err
	}
	return reads(link)
}

// own are attempts to exchange the program that makes them.
func own() map[string]Deed {
	const self = "/proc/self/exe"
	return map[string]Deed{
		"replace its own executable": func(Targets) error {
			// The kernel refuses to change what is being executed, and says so
			// only to those who may write there at all.
			return busy(unix.Truncate(self, 1<<40))
		},
		// What is opened to read is changed by its descriptor, as who waits until nobody
		// executes it any more would do.
		"change its own executable by a descriptor": func(Targets) error { return reopen(self) },
	}
}

func busy(err error) error {
	if errors.Is(err, unix.ETXTBSY) {
		return nil
	}
	return err
}

func reopen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return busy(unix.Truncate("/proc/self/fd/"+itoa(int(f.Fd())), 1<<40))
}
