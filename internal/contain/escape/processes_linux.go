package escape

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// processes are attempts to reach processes outside.
func processes() map[string]attempt {
	return map[string]attempt{
		"see a process outside":                     outsider(func(string) error { return nil }),
		"read the environment of a process outside": outsider(func(dir string) error { _, err := os.ReadFile(dir + "/environ"); return err }),
		"read the root of a process outside":        outsider(func(dir string) error { _, err := os.ReadDir(dir + "/root/"); return err }),
		"signal a process outside": func(a Aim) error {
			if !strange(a) {
				return unix.Kill(a.PID, 0)
			}
			return unix.Kill(a.PID+1<<20, 0) // its number means nothing here
		},
		"see more processes than its own": func(a Aim) error {
			entries, err := os.ReadDir("/proc")
			if err != nil {
				return err
			}
			n := 0
			for _, entry := range entries {
				if strings.Trim(entry.Name(), "0123456789") == "" {
					n++
				}
			}
			if n > 3 {
				return nil
			}
			return errHeld
		},
	}
}

// holder are attempts to reach the process that holds the run, which is process
// 1 where there is a namespace.
func holder() map[string]attempt {
	return map[string]attempt{
		"read the memory of the holder":      func(Aim) error { return memory("/proc/1/mem") },
		"read the environment of the holder": reads(func(Aim) string { return "/proc/1/environ" }),
		"open a descriptor of the holder":    descriptors,
		"enter the root of the holder":       func(Aim) error { _, err := os.ReadDir("/proc/1/root/"); return err },
		"enter the directory of the holder":  func(Aim) error { _, err := os.ReadDir("/proc/1/cwd/"); return err },
		"read the executable of the holder":  func(Aim) error { return memory("/proc/1/exe") },
		"read the holder by process_vm_readv": func(Aim) error {
			b := make([]byte, 8)
			iov := []unix.Iovec{{Base: &b[0]}}
			iov[0].SetLen(8)
			_, err := unix.ProcessVMReadv(1, iov, []unix.RemoteIovec{{Base: 0x1000, Len: 8}}, 0)
			if errors.Is(err, unix.EFAULT) {
				return nil // it was let in and found nothing there
			}
			return err
		},
		"trace the holder": func(Aim) error { return unix.PtraceSeize(1) },
		"take a descriptor of the holder": func(Aim) error {
			fd, err := unix.PidfdOpen(1, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			got, _, errno := unix.Syscall(unix.SYS_PIDFD_GETFD, uintptr(fd), 3, 0)
			if errno == 0 {
				return unix.Close(int(got))
			}
			return answered(errno)
		},
		"end the holder": func(Aim) error {
			// To be here to tell means that it didn't work, or isn't allowed to.
			if err := unix.Kill(1, unix.SIGKILL); err != nil {
				return err
			}
			return errHeld
		},
	}
}

// descriptors tries every descriptor of process 1. That they can be counted is
// no harm.
func descriptors(Aim) error {
	refused := errHeld
	for n := range 64 {
		name := fmt.Sprintf("/proc/1/fd/%d", n)
		_, err := os.Readlink(name)
		if err == nil || memory(name) == nil {
			return nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			refused = err
		}
	}
	return refused
}

// strange reports whether process numbers mean something else here than where
// the aim was made.
func strange(a Aim) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own != a.PIDNamespace
}

// outsider tries to get at a process outside by its number there. With another
// numbering that may be one of ours, so it is known by its namespace.
func outsider(try func(dir string) error) attempt {
	return func(a Aim) error {
		dir := fmt.Sprintf("/proc/%d", a.PID)
		if _, err := os.Stat(dir); err != nil {
			return err
		}
		if b, err := os.ReadFile(dir + "/cmdline"); err == nil && len(b) == 0 {
			return errHeld
		}
		if strange(a) {
			if there, err := os.Readlink(dir + "/ns/pid"); err == nil && there != a.PIDNamespace {
				return errHeld
			}
		}
		return try(dir)
	}
}

func memory(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// answered is nil unless a call was refused: that it made no sense of what it
// was asked means that it was let in.
func answered(errno unix.Errno) error {
	switch errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ESRCH:
		return errno
	}
	return nil
}
