// Package kernel has the attempts on the kernel itself, its mounts and its devices.
//
// # Limits
//
// Calls are made with arguments that ask for nothing, or for the same again.
package kernel

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/probe/attempt"
	"paddock/internal/contain/probe/attempt/calls"
)

// call makes a system call that has no wrapper, with arguments that ask for
// nothing.
func call(nr uintptr, args ...uintptr) attempt.Deed {
	return func(attempt.Targets) error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		return calls.Answered(errno)
	}
}

const (
	none    = ^uintptr(0) // no descriptor
	nowhere = 8           // no address
)

// Deeds returns them by name.
func Deeds() map[string]attempt.Deed {
	all := mounts()
	maps.Copy(all, kernel())
	maps.Copy(all, devices())
	return all
}

// mounts are attempts on the file system as a whole.
func mounts() map[string]attempt.Deed {
	return map[string]attempt.Deed{
		"mount": func(t attempt.Targets) error {
			dir := filepath.Join(t.Root, "mount")
			if err := unix.Mkdir(dir, 0o700); err != nil {
				return err
			}
			defer os.Remove(dir)
			if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
				return err
			}
			return unix.Unmount(dir, unix.MNT_DETACH)
		},
		"pivot_root":         func(t attempt.Targets) error { return calls.Let(unix.PivotRoot(t.Root, t.Root)) },
		"chroot":             func(attempt.Targets) error { return unix.Chroot("/") },
		"open a file system": func(attempt.Targets) error { return opened(unix.Fsopen("tmpfs", 0)) },
		"clone the tree of mounts": func(attempt.Targets) error {
			return opened(unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE))
		},
		"enter a namespace": func(attempt.Targets) error {
			fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				fd, err = unix.Open("/proc/self/ns/uts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			}
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Setns(fd, 0)
		},
	}
}

// opened lets go of a descriptor that an attempt got.
func opened(fd int, err error) error {
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// kernel are attempts on the kernel itself.
func kernel() map[string]attempt.Deed {
	all := map[string]attempt.Deed{
		"use a key ring": func(attempt.Targets) error {
			_, err := unix.AddKey("user", "paddock", []byte("x"), unix.KEY_SPEC_THREAD_KEYRING)
			return err
		},
		"search a key ring":     call(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, sessionKeyring, 0),
		"load a module":         call(unix.SYS_INIT_MODULE, nowhere, 0, nowhere),
		"load a module's file":  call(unix.SYS_FINIT_MODULE, none, nowhere, 0),
		"load a BPF program":    call(unix.SYS_BPF, 0, nowhere, 0),
		"open io_uring":         call(unix.SYS_IO_URING_SETUP, 1, nowhere),
		"open userfaultfd":      call(unix.SYS_USERFAULTFD, 0xffff),
		"count with perf":       call(unix.SYS_PERF_EVENT_OPEN, nowhere, 0, none, none, 0),
		"load another kernel":   call(unix.SYS_KEXEC_LOAD, 0, 1<<40, 0, 0),
		"open by handle":        call(unix.SYS_OPEN_BY_HANDLE_AT, none, nowhere, 0),
		"read the kernel's log": call(unix.SYS_SYSLOG, 3, nowhere, 0),
		"set the clock":         call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, nowhere),
	}
	for name, flag := range map[string]int{
		"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "network": unix.CLONE_NEWNET, "PID": unix.CLONE_NEWPID,
		"IPC": unix.CLONE_NEWIPC, "UTS": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP,
	} {
		all["make a new "+name+" namespace"] = func(attempt.Targets) error { return unix.Unshare(flag) }
	}
	return all
}

// devices are attempts on what is behind /dev, terminals among it.
func devices() map[string]attempt.Deed {
	all := map[string]attempt.Deed{
		"make a device": func(a attempt.Targets) error {
			path := a.Root + "/device"
			defer os.Remove(path)
			return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 1)))
		},
		"type into a terminal": func(attempt.Targets) error {
			return calls.Terminal(func(fd int) unix.Errno {
				c := byte('x')
				_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
				if errno == unix.EIO { // a kernel without it
					errno = unix.EPERM
				}
				return errno
			})
		},
		"paste into a console": func(attempt.Targets) error {
			return calls.Terminal(func(fd int) unix.Errno {
				c := byte(3)
				_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), 0x541c, uintptr(unsafe.Pointer(&c)))
				return errno
			})
		},
		"have a terminal that was there": func(attempt.Targets) error { return calls.Open("/dev/tty", unix.O_RDWR) },
		"leave a core dump": func(attempt.Targets) error {
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
				return err
			}
			if limit.Max == 0 { // with none, a program of the machine may still get it, or a socket
				pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
				if err != nil || bytes.ContainsAny(pattern[:min(1, len(pattern))], "|@") {
					return err
				}
			}
			if limit.Max <= 1 {
				return attempt.ErrHeld
			}
			return nil
		},
	}
	for _, name := range []string{"mem", "kmsg", "port", "vda", "sda", "nvme0n1", "kvm", "fuse", "net/tun", "loop-control"} {
		path := "/dev/" + name
		all["open "+path] = func(attempt.Targets) error { return calls.Open(path, unix.O_RDONLY) }
	}
	return all
}

const sessionKeyring = ^uintptr(2) // -3
