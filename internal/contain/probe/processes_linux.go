package probe

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ours reports whether the number may mean a process of the run: in a PID
// namespace the first few do.
func ours(pid int) bool {
	if pid <= 2 || pid == os.Getpid() {
		return true
	}
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", pid))
	return err == nil
}

const ambiguous = "the number of the process outside may be one of ours in here"

func proc(t Targets) Result {
	if ours(t.PID) {
		return untried(ambiguous)
	}
	return stats(fmt.Sprintf("/proc/%d", t.PID))
}

// signals sends none, which needs the same permission.
func signals(t Targets) Result {
	if ours(t.PID) {
		return untried(ambiguous)
	}
	return all(try{"kill", unix.Kill(t.PID, 0)})
}

func tracing(t Targets) Result {
	if ours(t.PID) {
		return untried(ambiguous)
	}
	return all(
		try{"ptrace", seize(t.PID)},
		try{"process_vm_readv", readMemory(t.PID)},
		try{"open its memory", open(fmt.Sprintf("/proc/%d/mem", t.PID), unix.O_RDONLY)},
		try{"open its environment", open(fmt.Sprintf("/proc/%d/environ", t.PID), unix.O_RDONLY)},
		try{"enter its root", open(fmt.Sprintf("/proc/%d/root/", t.PID), unix.O_RDONLY)},
		try{"pidfd_getfd", takeDescriptor(t.PID)},
	)
}

// seize begins to trace, which doesn't stop the other, and ends that at once.
func seize(pid int) error {
	if err := call(unix.SYS_PTRACE, false, unix.PTRACE_SEIZE, uintptr(pid)); err != nil {
		return err
	}
	// Where it can't be detached while it runs, it is when we end.
	_ = call(unix.SYS_PTRACE, false, unix.PTRACE_DETACH, uintptr(pid))
	return nil
}

// readMemory reads at the address zero, where nothing is.
func readMemory(pid int) error {
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(1)
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 0, Len: 1}}, 0)
	if errors.Is(err, unix.EFAULT) {
		return nil
	}
	return err
}

func takeDescriptor(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	got, err := unix.PidfdGetfd(fd, 0, 0)
	if err == nil {
		err = errors.Join(unix.Close(got)) // nil: it was given
	}
	return errors.Join(err, unix.Close(fd))
}

// supervisor looks into the process that holds the tree, which is the parent,
// and into the first of those that can be seen.
func supervisor(Targets) Result {
	var tries []try
	for _, pid := range []int{1, os.Getppid()} {
		if pid == 0 {
			continue
		}
		for _, name := range []string{"mem", "environ", "root/"} {
			path := fmt.Sprintf("/proc/%d/%s", pid, name)
			tries = append(tries, try{path, open(path, unix.O_RDONLY)})
		}
		_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", pid))
		tries = append(tries, try{"its descriptors", err})
		tries = append(tries, try{"ptrace", seize(pid)}, try{"write its program", open(fmt.Sprintf("/proc/%d/exe", pid), unix.O_WRONLY)})
	}
	return all(tries...)
}

func setuid(Targets) Result {
	n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || n != 1 {
		return broken("no_new_privs is %d", n)
	}
	return held("no_new_privs is set")
}

func capabilities(Targets) Result {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return untried("capget: " + err.Error())
	}
	have := data[0].Effective | data[0].Permitted | data[0].Inheritable | data[1].Effective | data[1].Permitted | data[1].Inheritable
	if have != 0 {
		return broken("effective %#x %#x", data[1].Effective, data[0].Effective)
	}
	return held("none")
}

func identity(Targets) Result {
	if os.Geteuid() == 0 || os.Getegid() == 0 {
		return broken("uid %d, gid %d", os.Geteuid(), os.Getegid())
	}
	return held("uid %d, gid %d", os.Geteuid(), os.Getegid())
}

func coreDumps(Targets) Result {
	var limit unix.Rlimit
	switch err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); {
	case err != nil:
		return untried("getrlimit: " + err.Error())
	case limit.Max > 1: // one byte is the way to say none where cores go to a program
		return broken("the limit is %d bytes", limit.Max)
	}
	return held("the limit is %d", limit.Max)
}

func openFiles(t Targets) Result {
	if t.OpenFiles == 0 {
		return all()
	}
	var limit unix.Rlimit
	switch err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); {
	case err != nil:
		return untried("getrlimit: " + err.Error())
	case limit.Max > uint64(t.OpenFiles):
		return broken("the limit is %d", limit.Max)
	}
	return held("the limit is %d", limit.Max)
}
