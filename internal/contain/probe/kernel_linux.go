package probe

import (
	"errors"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mounts tries a file system on a directory of the root, and what would change
// the root, with arguments that can't work where it is permitted.
func mounts(t Targets) Result {
	dir := filepath.Join(t.Root, "mount")
	made := unix.Mkdir(dir, 0o700)
	mounted := unix.Mount("none", dir, "tmpfs", 0, "")
	if mounted == nil {
		mounted = errors.Join(unix.Unmount(dir, 0)) // nil: it was mounted
	}
	if made == nil {
		_ = unix.Rmdir(dir) // in a root that is thrown away
	}
	return all(
		try{"mount", mounted},
		try{"pivot_root", refused(unix.PivotRoot(dir, dir))},
		try{"chroot", unix.Chroot("/")},
		try{"fsopen", call(unix.SYS_FSOPEN, true, text("tmpfs"), 0)},
		try{"open_tree", call(unix.SYS_OPEN_TREE, true, ^uintptr(99), text("/"), unix.OPEN_TREE_CLONE)},
	)
}

// namespaces asks for new ones, of this thread only. A new user namespace isn't
// given to a program with threads, but one that is refused is refused before.
func namespaces(Targets) Result {
	own := func() error {
		fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return errors.Join(unix.Setns(fd, unix.CLONE_NEWUTS), unix.Close(fd))
	}
	return all(
		try{"setns", own()},
		try{"unshare a host name", unix.Unshare(unix.CLONE_NEWUTS)},
		try{"unshare users", refused(unix.Unshare(unix.CLONE_NEWUSER))},
	)
}

const nowhere = ^uintptr(0) // no descriptor, no address, no flag

func kernelCalls(Targets) Result {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Bits: unix.PerfBitExcludeKernel}
	attr.Size = uint32(unsafe.Sizeof(attr))
	perf, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		err = errors.Join(unix.Close(perf)) // nil: it was given
	}
	_, keyErr := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	return all(
		try{"load a module", refused(call(unix.SYS_FINIT_MODULE, false, nowhere, text(""), nowhere))},
		try{"kexec", refused(call(unix.SYS_KEXEC_LOAD, false, 0, 0, 0, nowhere))},
		try{"bpf", refused(call(unix.SYS_BPF, false, nowhere, 0, 0))},
		try{"perf", refused(err)},
		try{"keyctl", refused(keyErr)},
		try{"io_uring", refused(call(unix.SYS_IO_URING_SETUP, true, 0, 0))},
		try{"userfaultfd", refused(call(unix.SYS_USERFAULTFD, true, 1))}, // for faults of user space
	)
}

// terminalInput types into no terminal: who may not is told so all the same.
func terminalInput(Targets) Result {
	var b = []byte("\n")
	return all(try{"TIOCSTI", refused(call(unix.SYS_IOCTL, false, nowhere, unix.TIOCSTI, uintptr(unsafe.Pointer(&b[0]))))})
}

func terminal(Targets) Result { return opens(unix.O_RDWR, "/dev/tty") }

// text is a string for the kernel. The memory is never freed: it is the
// program's last act.
func text(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

var kept [][]byte
