package escape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/escape/tricks"
)

func reads(path func(Aim) string) attempt {
	return func(a Aim) error {
		b, err := os.ReadFile(path(a))
		if err == nil && len(b) == 0 {
			return errHeld
		}
		return err
	}
}

// files are attempts to get at what is said to be private.
func files() map[string]attempt {
	return map[string]attempt{
		"read a private key in the home": reads(func(a Aim) string { return a.Key }),
		"read the policy":                reads(func(a Aim) string { return a.Policy }),
		"read another workspace":         reads(func(a Aim) string { return a.Neighbor }),
		"read an earlier run's output":   reads(func(a Aim) string { return a.Output }),
		"read through a parent of the root": reads(func(a Aim) string {
			rel, _ := filepath.Rel(a.Root, a.Outside) // both are absolute
			return rel + "/secret"
		}),
		"read through a link": func(a Aim) error {
			link := filepath.Join(a.Root, "link")
			defer os.Remove(link)
			if err := os.Symlink(filepath.Join(a.Outside, "secret"), link); err != nil {
				return err
			}
			_, err := os.ReadFile(link)
			return err
		},
		"list the home": func(a Aim) error { _, err := os.ReadDir(a.Home); return err },
		"list the root directory's secrets": func(a Aim) error {
			_, err := os.ReadDir(filepath.Dir(a.Root))
			if err != nil {
				return err
			}
			_, err = os.Lstat(a.Outside)
			return err
		},
		"see that a file exists":  func(a Aim) error { _, err := os.Stat(a.Key); return err },
		"read a file in /tmp":     reads(func(a Aim) string { return a.Tmp }),
		"read a file in /dev/shm": reads(func(a Aim) string { return a.Shm }),
		"read /etc/shadow":        reads(func(Aim) string { return "/etc/shadow" }),
		"list the machine's private keys": func(Aim) error {
			_, err := os.ReadDir("/etc/ssl/private")
			if errors.Is(err, os.ErrNotExist) {
				_, err = os.ReadDir("/etc/pki/tls/private")
			}
			return err
		},
		"see the machine's users": func(a Aim) error {
			b, err := os.ReadFile("/etc/passwd")
			if err == nil && !strings.Contains("\n"+string(b), "\n"+a.User+":") {
				return errHeld
			}
			return err
		},
	}
}

// opens tries to open path for writing, and writes nothing.
func opens(path string) attempt {
	return func(Aim) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
}

// outsideFiles are attempts to change what lies outside.
func outsideFiles() map[string]attempt {
	victim := func(a Aim) string { return filepath.Join(a.Outside, "victim") }
	all := map[string]attempt{
		"write a file outside": func(a Aim) error { return opens(victim(a))(a) },
		"create a file outside": func(a Aim) error {
			return os.WriteFile(filepath.Join(a.Outside, fmt.Sprint("made", os.Getpid())), nil, 0o600)
		},
		"truncate a file outside": func(a Aim) error { return os.Truncate(victim(a), 1) },
		"remove a file outside":   func(a Aim) error { return os.Remove(filepath.Join(a.Outside, "removable")) },
		"chmod outside":           func(a Aim) error { return os.Chmod(victim(a), 0o640) },
		"chown outside":           func(a Aim) error { return os.Chown(victim(a), -1, os.Getgid()) },
		"set times outside":       func(a Aim) error { return os.Chtimes(victim(a), time.Time{}, time.Unix(1e9, 0)) },
		"set an extended attribute outside": func(a Aim) error {
			return unix.Setxattr(victim(a), "user.paddock", []byte("x"), 0)
		},
		"link a file from outside": func(a Aim) error {
			to := filepath.Join(a.Root, "hardlink")
			defer os.Remove(to)
			return os.Link(filepath.Join(a.Outside, "secret"), to)
		},
		"move a file in from outside": func(a Aim) error {
			return os.Rename(filepath.Join(a.Outside, "movable"), filepath.Join(a.Root, "moved"))
		},
		"make a file that belongs to whoever owns it": func(a Aim) error { return tricks.Setuid(a.Root) },
		"race a link against the boundary":            func(a Aim) error { return tricks.Race(a.Root, a.Outside) },
		"replace its own executable": func(Aim) error {
			// The kernel refuses to change what is being executed, and says so
			// only to those who may write there at all.
			err := unix.Truncate("/proc/self/exe", 1<<40)
			if errors.Is(err, unix.ETXTBSY) {
				return nil
			}
			return err
		},
	}
	for name, path := range map[string]string{
		"write to /usr/bin": "/usr/bin/env", "write to /proc/sys": "/proc/sys/kernel/core_pattern",
		"write to /etc": "/etc/hosts", "write to a cgroup": "/sys/fs/cgroup/cgroup.procs",
		"write to /sys": "/sys/kernel/mm/transparent_hugepage/enabled", "write to /proc/sysrq-trigger": "/proc/sysrq-trigger",
	} {
		all[name] = opens(path)
	}
	return all
}
