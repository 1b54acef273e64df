package processes

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
)

// views are attempts to find something that came along by accident.
func views() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"find a descriptor that leaked": leaked,
		"start somewhere else": func(t attempt.Targets) error {
			dir, err := unix.Getwd()
			if err != nil || dir == t.Root {
				return errors.Join(err, attempt.ErrHeld)
			}
			return nil
		},
		"see the machine's name": func(t attempt.Targets) error {
			if t.Host == "" {
				return attempt.ErrUntried
			}
			name, err := os.Hostname()
			if err == nil && name != t.Host {
				return attempt.ErrHeld
			}
			return err
		},
		"have more than 1 GiB of /tmp": func(attempt.Targets) error {
			var st unix.Statfs_t
			if err := unix.Statfs("/tmp", &st); err != nil {
				return err
			}
			if st.Blocks*uint64(st.Bsize) <= 1<<30 {
				return attempt.ErrHeld
			}
			return nil
		},
		"read what the kernel tells of the machine": func(attempt.Targets) error {
			for _, name := range []string{"/proc/keys", "/proc/timer_list", "/proc/kcore", "/proc/kmsg"} {
				f, err := os.Open(name)
				if err != nil {
					continue
				}
				n, _ := unix.Read(int(f.Fd()), make([]byte, 1)) // nothing, where it is masked
				if err := f.Close(); err != nil {
					return err
				}
				if n > 0 {
					return nil
				}
			}
			return attempt.ErrHeld
		},
	}
}

// powers are attempts to find that something wasn't given up.
func powers() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"keep capabilities": func(attempt.Targets) error {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var sets [2]unix.CapUserData
			if err := unix.Capget(&header, &sets[0]); err != nil {
				return err
			}
			for _, set := range sets {
				if set.Effective|set.Permitted|set.Inheritable != 0 {
					return nil
				}
			}
			return attempt.ErrHeld
		},
		"be root": func(attempt.Targets) error {
			if os.Geteuid() == 0 || os.Getegid() == 0 {
				return nil
			}
			return attempt.ErrHeld
		},
		"have more descriptors than the policy says": func(t attempt.Targets) error {
			if t.OpenFiles == 0 {
				return attempt.ErrUntried
			}
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Max <= uint64(t.OpenFiles) {
				return errors.Join(err, attempt.ErrHeld)
			}
			return nil
		},
		"gain privileges by executing": func(attempt.Targets) error {
			if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n == 1 {
				return errors.Join(err, attempt.ErrHeld)
			}
			return nil
		},
		"make files that others can write": func(attempt.Targets) error {
			old := unix.Umask(0)
			unix.Umask(old)
			if old&0o022 == 0o022 {
				return attempt.ErrHeld
			}
			return nil
		},
	}
}

// leaked looks at every descriptor beside the three. What this program itself has
// opened since is closed at an execution, and what it was given isn't.
func leaked(attempt.Targets) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		n, err := strconv.Atoi(entry.Name())
		if err != nil || n <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			return nil
		}
	}
	return attempt.ErrHeld
}
