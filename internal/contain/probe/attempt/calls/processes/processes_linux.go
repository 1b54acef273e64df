// Package processes has the attempts on other processes, and those to find that this
// one wasn't kept from something.
//
// # Limits
//
// In a PID namespace a number may mean one of the run's own processes: who is outside
// is known by the namespace, too.
package processes

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/calls"
)

// Deeds returns them by name.
func Deeds() map[string]attempt.Deed {
	all := processes()
	for _, more := range []map[string]attempt.Deed{outsider(), holder(), views(), powers()} {
		maps.Copy(all, more)
	}
	return all
}

// processes are attempts to see and reach processes outside.
func processes() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"signal a process outside": func(t attempt.Targets) error {
			switch {
			case t.PID == 0:
				return attempt.ErrUntried
			case strange(t):
				return unix.Kill(t.PID+1<<20, 0) // its number means nothing here
			}
			return unix.Kill(t.PID, 0)
		},
		"see more processes than its own": func(attempt.Targets) error {
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
			return attempt.ErrHeld
		},
	}
}

// outsider are attempts on one process outside.
func outsider() map[string]attempt.Deed {
	all := map[string]attempt.Deed{}
	for name, try := range map[string]func(pid int, dir string) error{
		"see a process outside":                      func(int, string) error { return nil },
		"read the environment of a process outside":  func(_ int, dir string) error { return calls.Read(dir + "/environ") },
		"read the root of a process outside":         func(_ int, dir string) error { return calls.List(dir + "/root/") },
		"read the memory of a process outside":       func(_ int, dir string) error { return calls.Open(dir+"/mem", unix.O_RDONLY) },
		"trace a process outside":                    func(pid int, _ string) error { return seize(pid) },
		"read a process outside by process_vm_readv": func(pid int, _ string) error { return readMemory(pid) },
		"take a descriptor of a process outside":     func(pid int, _ string) error { return takeDescriptor(pid) },
	} {
		all[name] = func(t attempt.Targets) error { return onProcess(t, try) }
	}
	return all
}

// strange reports whether process numbers mean something else here than where the
// targets were made.
func strange(t attempt.Targets) bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && own != t.PIDNamespace
}

// onProcess tries to get at a process outside by its number there. With another
// numbering that may be one of ours, so it is known by its namespace.
func onProcess(t attempt.Targets, try func(pid int, dir string) error) error {
	if t.PID == 0 {
		return attempt.ErrUntried
	}
	dir := fmt.Sprintf("/proc/%d", t.PID)
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	if b, err := os.ReadFile(dir + "/cmdline"); err == nil && len(b) == 0 {
		return attempt.ErrHeld
	}
	if strange(t) {
		if there, err := os.Readlink(dir + "/ns/pid"); err == nil && there != t.PIDNamespace {
			return attempt.ErrHeld
		}
	}
	return try(t.PID, dir)
}

// holder are attempts to reach the process that holds the run, which is process 1
// where there is a namespace.
func holder() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"read the memory of the holder":        func(attempt.Targets) error { return calls.Open("/proc/1/mem", unix.O_RDONLY) },
		"read the environment of the holder":   func(attempt.Targets) error { return calls.Read("/proc/1/environ") },
		"open a descriptor of the holder":      descriptors,
		"enter the root of the holder":         func(attempt.Targets) error { return calls.List("/proc/1/root/") },
		"enter the directory of the holder":    func(attempt.Targets) error { return calls.List("/proc/1/cwd/") },
		"read the executable of the holder":    func(attempt.Targets) error { return calls.Open("/proc/1/exe", unix.O_RDONLY) },
		"replace the executable of the holder": func(attempt.Targets) error { return calls.Busy(calls.Open("/proc/1/exe", unix.O_WRONLY)) },
		"read the holder by process_vm_readv":  func(attempt.Targets) error { return readMemory(1) },
		"trace the holder":                     func(attempt.Targets) error { return seize(1) },
		"take a descriptor of the holder":      func(attempt.Targets) error { return takeDescriptor(1) },
	}
}

// seize begins to trace, which doesn't stop the other, and ends that at once.
func seize(pid int) error {
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	// Where it can't be detached while it runs, it is when this thread ends.
	_ = unix.PtraceDetach(pid)
	return nil
}

// readMemory reads near the address zero, where nothing is.
func readMemory(pid int) error {
	b := make([]byte, 8)
	iov := []unix.Iovec{{Base: &b[0]}}
	iov[0].SetLen(8)
	_, err := unix.ProcessVMReadv(pid, iov, []unix.RemoteIovec{{Base: 0x1000, Len: 8}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil // it was let in and found nothing there
	}
	return err
}

func takeDescriptor(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for n := range 4 {
		var got int
		if got, err = unix.PidfdGetfd(fd, n, 0); err == nil {
			return unix.Close(got)
		}
		if !errors.Is(err, unix.EBADF) {
			return calls.Let(err)
		}
	}
	return nil // it was let in and found nothing there
}

// descriptors tries every descriptor of process 1. That they can be counted is no
// harm.
func descriptors(attempt.Targets) error {
	refused := attempt.ErrHeld
	for n := range 64 {
		name := fmt.Sprintf("/proc/1/fd/%d", n)
		_, err := os.Readlink(name)
		if err == nil || calls.Open(name, unix.O_RDONLY) == nil {
			return nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			refused = err
		}
	}
	return refused
}
