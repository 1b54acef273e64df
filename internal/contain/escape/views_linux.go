package escape

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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

// needs are no attempts on anything: honest programs do these, so they should
// succeed.
func needs() map[string]attempt {
	return map[string]attempt{
		"use loopback inside": func(Aim) error {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			return talk(listener, "tcp", listener.Addr().String())
		},
		"use a socket inside": func(a Aim) error {
			path := filepath.Join(a.Root, "own-socket")
			listener, err := net.Listen("unix", path)
			if err != nil {
				return err
			}
			return talk(listener, "unix", path)
		},
		"read its own executable":    func(Aim) error { return memory("/proc/self/exe") },
		"write to /tmp":              func(Aim) error { return roundTrip("/tmp") },
		"write to /var/tmp":          func(Aim) error { return roundTrip("/var/tmp") },
		"write to /dev/shm":          func(Aim) error { return roundTrip("/dev/shm") },
		"write to the root":          func(a Aim) error { return roundTrip(a.Root) },
		"write to /dev/null":         opens("/dev/null"),
		"lock a file":                lock,
		"have a terminal of its own": func(Aim) error { return terminal(func(int) unix.Errno { return 0 }) },
		"move between directories": func(a Aim) error {
			one, two := filepath.Join(a.Root, "one"), filepath.Join(a.Root, "two")
			if err := errors.Join(os.Mkdir(one, 0o755), os.Mkdir(two, 0o755), os.WriteFile(one+"/f", nil, 0o600)); err != nil {
				return err
			}
			return errors.Join(os.Rename(one+"/f", two+"/f"), os.Link(two+"/f", one+"/g"))
		},
		"make a pipe in a directory": func(a Aim) error { return unix.Mkfifo(filepath.Join(a.Root, "pipe"), 0o600) },
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
func lock(a Aim) error {
	f, err := os.OpenFile(filepath.Join(a.Root, "locked"), os.O_RDWR|os.O_CREATE, 0o600)
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
