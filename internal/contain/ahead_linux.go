package contain

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// A Wait is how a process in between waits for the run that it was forked ahead of.
type Wait struct {
	// Socket is where it hears of its run, and reports.
	Socket int
	// Hello is the kind of its first report.
	Hello uint32
	// Memory is what it shares with who forked it, of Size bytes, and Message the
	// address in there of the struct msghdr by which the run's descriptors come.
	Memory, Size, Message uintptr
	// Ground is built before the process waits; nil is none.
	Ground []Call
	// Later are namespaces that are made when the run is there, since what is in them
	// is what was outside at that moment.
	Later uintptr
}

// Ahead is what such a process does before it is told of its run: it lets go of
// everything but its socket, ends when who forked it does, and waits. Who forked it may
// be gone before the kernel was told to watch, so it says something: without a
// reader it ends.
func Ahead(w Wait) []Call {
	const step = "wait for the run"
	call := func(nr uintptr, accept []unix.Errno, args ...Arg) Call {
		c := prepared(step, nr, args)
		c.Accept = accept
		return c
	}
	hello := make([]byte, 16)
	binary.NativeEndian.PutUint32(hello, w.Hello)
	calls := append(make([]Call, 0, 9+len(w.Ground)),
		call(unix.SYS_DUP3, []unix.Errno{unix.EINVAL /* it is there */}, Number(w.Socket), Number(SlotReport), Number(unix.O_CLOEXEC)),
		call(unix.SYS_CLOSE_RANGE, nil, Number(0), Number(SlotReport-1), Number(0)),
		call(unix.SYS_CLOSE_RANGE, nil, Number(SlotReport+1), Number(uint32(1<<32-1)), Number(0)),
		call(unix.SYS_PRCTL, nil, Number(unix.PR_SET_DUMPABLE), Number(0)),
		call(unix.SYS_PRCTL, nil, Number(unix.PR_SET_PDEATHSIG), Number(int(unix.SIGKILL))),
	)
	if w.Ground != nil {
		calls = append(append(calls, call(unix.SYS_UNSHARE, nil, Number(unix.CLONE_NEWNS))), w.Ground...)
	}
	return append(calls,
		call(unix.SYS_WRITE, nil, Number(SlotReport), Memory(hello), Number(len(hello))),
		// Linux before 5.14 hands the pages out one by one.
		call(unix.SYS_MADVISE, []unix.Errno{unix.EINVAL}, Number(w.Memory), Number(w.Size), Number(unix.MADV_POPULATE_WRITE)),
		call(unix.SYS_RECVMSG, nil, Number(SlotReport), Number(w.Message), Number(unix.MSG_CMSG_CLOEXEC)),
		call(unix.SYS_UNSHARE, nil, Number(w.Later)),
	)
}

// Spent is how the process in between learns what its children took: a struct rusage
// at usage.
func Spent(usage uintptr) []Call {
	return []Call{prepared("what was used", unix.SYS_GETRUSAGE, []Arg{Number(unix.RUSAGE_CHILDREN), Number(usage)})}
}

// Answered is how a process waits for a byte from a socket, which it puts at into.
func Answered(socket int, into uintptr) []Call {
	return []Call{prepared("wait for an answer", unix.SYS_READ, []Arg{Number(uintptr(socket)), Number(into), Number(1)})}
}
