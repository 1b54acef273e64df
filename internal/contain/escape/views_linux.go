package escape

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// views are attempts to find something that came along by accident.
func views() map[string]attempt {
	return map[string]attempt{
		"find a descriptor that leaked": leaked,
		"start somewhere else": func(a Aim) error {
			dir, err := unix.Getwd()
			if err != nil || dir == a.Root {
				return errors.Join(err, errHeld)
			}
			return nil
		},
		"see the machine's name": func(a Aim) error {
			name, err := os.Hostname()
			if err == nil && name != a.Host {
				return errHeld
			}
			return err
		},
		"have more than 1 GiB of /tmp": func(Aim) error {
			var st unix.Statfs_t
			if err := unix.Statfs("/tmp", &st); err != nil {
				return err
			}
			if st.Blocks*uint64(st.Bsize) <= 1<<30 {
				return errHeld
			}
			return nil
		},
		"read what the kernel tells of the machine": func(Aim) error {
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
			return errHeld
		},
	}
}

// powers are attempts to find that something wasn't given up.
func powers() map[string]attempt {
	return map[string]attempt{
		"keep capabilities": func(Aim) error {
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
			return errHeld
		},
		"gain privileges by executing": func(Aim) error {
			if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n == 1 {
				return errors.Join(err, errHeld)
			}
			return nil
		},
		"make files that others can write": func(Aim) error {
			old := unix.Umask(0)
			unix.Umask(old)
			if old&0o022 == 0o022 {
				return errHeld
			}
			return nil
		},
	}
}

// leaked looks at every descriptor beside the three and the runtime's own.
func leaked(Aim) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		n, err := strconv.Atoi(entry.Name())
		if err != nil || n <= 2 {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/fs/cgroup/") {
			continue
		}
		return nil
	}
	return errHeld
}
