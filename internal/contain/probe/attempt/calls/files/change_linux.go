package files

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/calls"
)

func itoa(n int) string { return strconv.Itoa(n) }

// makes reports whether a file can be made, and takes it away again.
func makes(path string) error {
	if err := calls.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL); err != nil {
		return err
	}
	return unix.Unlink(path)
}

// outsideFiles are attempts to change what lies outside.
func outsideFiles() map[string]attempt.Deed {
	victim := calls.Outside("victim")
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	all := map[string]attempt.Deed{
		"write a file outside": calls.On(victim, calls.Append),
		// It is left for whoever asked to find.
		"create a file outside":   calls.On(calls.Outside(attempt.Made), func(path string) error { return calls.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }),
		"truncate a file outside": calls.On(victim, func(path string) error { return os.Truncate(path, 1) }),
		"remove a file outside":   calls.On(calls.Outside("removable"), os.Remove),
		"chmod outside":           calls.On(victim, func(path string) error { return os.Chmod(path, 0o640) }),
		"chown outside":           calls.On(victim, func(path string) error { return os.Chown(path, -1, os.Getgid()) }),
		"set times outside":       calls.On(victim, func(path string) error { return unix.UtimesNanoAt(unix.AT_FDCWD, path, now, 0) }),
		"set an extended attribute outside": calls.On(victim, func(path string) error {
			return unix.Setxattr(path, "user.paddock", []byte("x"), 0)
		}),
		"link a file from outside": func(t attempt.Targets) error {
			return calls.On(calls.Outside("secret"), func(path string) error {
				to := filepath.Join(t.Root, "hardlink")
				defer os.Remove(to)
				return os.Link(path, to)
			})(t)
		},
		"move a file in from outside": func(t attempt.Targets) error {
			return calls.On(calls.Outside("movable"), func(path string) error { return os.Rename(path, filepath.Join(t.Root, "moved")) })(t)
		},
		"make a file that belongs to whoever owns it": setuid,
		"make a file in /usr":                         func(attempt.Targets) error { return makes("/usr/.paddock-attempt") },
	}
	for name, path := range map[string]string{
		"write to /usr/bin": "/usr/bin/env", "write to /proc/sys": "/proc/sys/kernel/core_pattern",
		"write to /etc": "/etc/hosts", "write to a cgroup": "/sys/fs/cgroup/cgroup.procs",
		"write to /sys": "/sys/kernel/mm/transparent_hugepage/enabled", "write to /proc/sysrq-trigger": "/proc/sysrq-trigger",
	} {
		all[name] = func(attempt.Targets) error { return calls.Open(path, unix.O_WRONLY) }
	}
	return all
}

// protected are attempts on the places of the root that other tools execute. What
// is made is taken away again, and what is moved is moved back.
func protected() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"make a missing hook":                func(t attempt.Targets) error { return makes(t.Root + "/.git/hooks/pre-commit") },
		"change git's configuration":         func(t attempt.Targets) error { return calls.Append(t.Root + "/.git/config") },
		"make a missing .mcp.json by a call": func(t attempt.Targets) error { return makes(t.Root + "/.mcp.json") },
		"move the repository away": func(t attempt.Targets) error {
			if err := unix.Rename(t.Root+"/.git", t.Root+"/elsewhere"); err != nil {
				return err
			}
			return unix.Rename(t.Root+"/elsewhere", t.Root+"/.git")
		},
		"link a protected file under another name": func(t attempt.Targets) error {
			to := t.Root + "/other-name"
			if err := unix.Link(t.Root+"/.git/config", to); err != nil {
				return err
			}
			return errors.Join(calls.Append(to), unix.Unlink(to))
		},
	}
}

// setuid leaves a program behind that would run as the user of this run for whoever
// starts it.
func setuid(t attempt.Targets) error {
	path := filepath.Join(t.Root, "becomes-setuid")
	defer os.Remove(path)
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ways := []func() error{
		func() error { return unix.Chmod(path, 0o4755) },
		func() error { return unix.Fchmod(fd, 0o4755) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o4755, 0) },
		func() error { return unix.Fchmodat(unix.AT_FDCWD, path, 0o4755, unix.AT_SYMLINK_NOFOLLOW) },
		func() error { return created(path, 0o4755) },
	}
	refused := attempt.ErrHeld
	for _, way := range ways {
		if err := way(); err != nil {
			refused = err
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == nil && st.Mode&unix.S_ISUID != 0 {
			return nil
		}
	}
	return refused
}

func created(path string, mode uint32) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
