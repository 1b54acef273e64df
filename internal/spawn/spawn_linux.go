package spawn

import (
	"cmp"
	"errors"
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock/internal/contain/lifecycle"
)

// This is THE FILE: nothing else in Paddock starts a program.
//
// Everything below "In the child" runs in a process that was forked from a running Go program
// and has one thread. The Go runtime is not usable there: no allocation, no lock, no growth of
// the stack, no race detector, and nothing is there but this program's text and constants and
// the memory of the start. So those functions are nosplit and norace, call nothing but the
// kernel, and work on one struct, initState, that the parent prepared; they touch no variable.

// startBeside starts command with one end of a socket as descriptor 3.
func startBeside(command []string, stderr, cgroup *os.File) (*Stage, error) {
	ours, theirs, err := stagePair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	defer ours.Close() // net.FileConn makes a descriptor of its own
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	argv := append([]string{"paddock-stage"}, command[1:]...)
	attr := &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: []uintptr{null.Fd(), null.Fd(), cmp.Or(stderr, null).Fd(), theirs.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if cgroup != nil {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(cgroup.Fd())
	}
	// Package os would first fork another, to learn whether the kernel has pidfds.
	pid, err := syscall.ForkExec(command[0], argv, attr)
	if err != nil && cgroup != nil { // it can still move there by itself
		attr.Sys.UseCgroupFD = false
		pid, err = syscall.ForkExec(command[0], argv, attr)
	}
	if err != nil {
		return nil, &os.PathError{Op: "fork/exec", Path: command[0], Err: err}
	}
	s := &Stage{pid: pid}
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, errors.Join(err, s.Kill(), s.Wait())
	}
	s.conn = conn.(*net.UnixConn)
	return s, nil
}

// replace makes this process the program at argv[0]; it returns only an error.
func replace(argv, env []string) error { return syscall.Exec(argv[0], argv, env) }

// The fork hooks that Go's syscall package keeps for programs like this one
// (go.dev/issue/67401).

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// fork makes the process in between and returns its id. It has an address space
// of its own, into which only the memory of the start and what is never written
// is taken, and a stack in that memory. The program shares it until it is
// executed.
//
//go:noinline
//go:norace
func fork(s *launch) (pid int, errno syscall.Errno) {
	if !s.shares {
		return forkPlain(s)
	}
	m, state, entry := s.memory, unsafe.Pointer(s.initState), s.begin
	args, size, stack, tls := uintptr(unsafe.Pointer(&s.clone)), unsafe.Sizeof(s.clone), uintptr(m.at(stackOfInit)), uintptr(s.clone.tls)
	flags := s.flags | unix.CLONE_SETTLS | uintptr(syscall.SIGCHLD)
	syscall.ForkLock.Lock()
	// If it can't be kept out it is copied.
	_ = lifecycle.KeepFromForks(append(keptThread(), [2]uintptr{uintptr(m.base), uintptr(m.base) + m.size})...)
	beforeFork()
	r := clone(unix.SYS_CLONE3, args, size, 0, 0, 0, state, entry)
	if failed(r) {
		// An old kernel or a filter around us. The older call can't reset signals.
		s.reset = ^uint64(0)
		r = clone(syscall.SYS_CLONE, flags, stack, 0, tls, tls, state, entry)
	}
	afterFork()
	syscall.ForkLock.Unlock()
	if failed(r) {
		return 0, syscall.Errno(-r)
	}
	return int(r), 0
}

// forkPlain makes it with a copy of all we have, and so does it the program, for
// machines on which the other road ends nowhere.
//
//go:noinline
//go:norace
func forkPlain(s *launch) (pid int, errno syscall.Errno) {
	state := s.initState
	syscall.ForkLock.Lock()
	if err := lifecycle.TakeIntoForks(); err != nil {
		syscall.ForkLock.Unlock()
		return 0, syscall.ENOTSUP
	}
	beforeFork()
	r, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, state.flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if r != 0 || e != 0 {
		afterFork()
		syscall.ForkLock.Unlock()
		return int(r), e
	}
	afterForkInChild()
	initMain(state)
	return 0, 0 // not reached
}

// In the child ---------------------------------------------------------------

// call is one system call of up to five arguments.
//
//go:nosplit
//go:norace
func call(trap, a, b, c, d, e uintptr) (uintptr, syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(trap, a, b, c, d, e, 0)
	return r, errno
}

//go:nosplit
//go:norace
func addr(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }

// initMain is the life of the process in between. It never returns.
//
//go:nosplit
//go:norace
func initMain(s *initState) {
	call(syscall.SYS_RT_SIGPROCMASK, 2 /* SIG_SETMASK */, uintptr(unsafe.Pointer(&s.all)), 0, 8, 0)
	if len(s.wait) > 0 { // it was forked ahead of its run
		awaitRun(s)
	} else {
		moveDescriptors(s)
		if s.flags&unix.CLONE_NEWUSER != 0 {
			writeMaps(s)
		}
	}
	call(syscall.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if s.namespace {
		call(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
	} else {
		call(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(requestKill), 0, 0, 0)
		call(syscall.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	// The supervisor may have died before the kernel was told to watch it; then
	// nobody reads the reports. SIGPIPE is blocked.
	if len(s.wait) == 0 { // else it has said so
		tell(s, reportHello, 0, 0)
		carryOut(s, s.answer, stepDescriptors)
	}
	carryOut(s, s.setup, stepSetup)
	call(syscall.SYS_SETSID, 0, 0, 0, 0, 0)
	startLeader(s)
	for fd := uintptr(0); fd < uintptr(s.used); fd++ {
		if fd != slotReport && fd != slotCgroupKill {
			call(syscall.SYS_CLOSE, fd, 0, 0, 0, 0)
		}
	}
	tell(s, reportStarted, s.leader, 0)
	for {
		reap(s)
		waitForSignal(s)
	}
}

// carryOut does what a plan says, in order, and ends the start at the first call
// that fails.
//
//go:nosplit
//go:norace
func carryOut(s *initState, ops []op, first uintptr) {
	for i := range ops {
		o := &ops[i]
		for j := range o.cells {
			if s.arg[j] = o.args[j]; o.cells[j] != nil {
				s.arg[j] = uintptr(*o.cells[j])
			}
		}
		r, _, e := syscall.RawSyscall6(o.nr, s.arg[0], s.arg[1], s.arg[2], s.arg[3], s.arg[4], s.arg[5])
		if e != 0 {
			accepted := false
			for _, a := range o.accept {
				accepted = accepted || a == e
			}
			if !accepted {
				fail(s, first+uintptr(i), e)
			}
			continue
		}
		if o.into != nil {
			*o.into = int32(r)
		}
		for j := range o.want {
			if o.got[j] != o.want[j] {
				fail(s, first+uintptr(i), syscall.ESTALE)
			}
		}
	}
}

// moveDescriptors puts what is needed into the slots and closes everything
// else, the supervisor's lock first of all.
//
//go:nosplit
//go:norace
func moveDescriptors(s *initState) {
	for i := range s.used {
		s.high[i] = -1
		if s.fds[i] < 0 {
			continue
		}
		r, e := call(syscall.SYS_FCNTL, uintptr(s.fds[i]), syscall.F_DUPFD, 64, 0, 0)
		if e != 0 {
			fail(s, stepDescriptors, e)
		}
		s.high[i] = int32(r)
	}
	s.reportFD = s.high[slotReport]
	for i := range s.used {
		if s.high[i] < 0 {
			call(syscall.SYS_CLOSE, uintptr(i), 0, 0, 0, 0)
			continue
		}
		flags := uintptr(0)
		if i > slotStderr {
			flags = syscall.O_CLOEXEC
		}
		if _, e := call(syscall.SYS_DUP3, uintptr(s.high[i]), uintptr(i), flags, 0, 0); e != 0 {
			fail(s, stepDescriptors, e)
		}
	}
	s.reportFD = slotReport
	if _, e := call(unix.SYS_CLOSE_RANGE, uintptr(s.used), 0xffffffff, 0, 0, 0); e != 0 {
		fail(s, stepDescriptors, e)
	}
}

//go:nosplit
//go:norace
func writeFile(s *initState, path, text, size uintptr) {
	at := unix.AT_FDCWD
	fd, e := call(syscall.SYS_OPENAT, uintptr(at), path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0, 0)
	if e == 0 {
		_, e = call(syscall.SYS_WRITE, fd, text, size, 0, 0)
		call(syscall.SYS_CLOSE, fd, 0, 0, 0, 0)
	}
	if e != 0 {
		fail(s, stepUserNamespace, e)
	}
}

// startLeader forks the program and returns once it has become the program.
//
//go:nosplit
//go:norace
func startLeader(s *initState) {
	if _, e := call(syscall.SYS_PIPE2, uintptr(unsafe.Pointer(&s.pipe)), syscall.O_CLOEXEC, 0, 0, 0); e != 0 {
		fail(s, stepDescriptors, e)
	}
	var r uintptr
	if s.shares { // it returns when the program is one, or there won't be one
		r = clone(syscall.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|uintptr(syscall.SIGCHLD), s.stack, 0, 0, 0, unsafe.Pointer(s), s.entry)
		s.reportFD = slotReport
	} else {
		var e syscall.Errno
		if r, e = call(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0); e != 0 {
			r = -uintptr(e)
		} else if r == 0 {
			become(s)
		}
	}
	if failed(r) {
		fail(s, stepFork, syscall.Errno(-r))
	}
	s.leader = int32(r)
	call(syscall.SYS_CLOSE, uintptr(s.pipe[1]), 0, 0, 0, 0)
	n, e := call(syscall.SYS_READ, uintptr(s.pipe[0]), uintptr(unsafe.Pointer(&s.out)), reportSize, 0, 0)
	if e != 0 {
		fail(s, stepExec, e)
	}
	if n != 0 {
		fail(s, uintptr(s.out.a), syscall.Errno(s.out.b))
	}
	call(syscall.SYS_CLOSE, uintptr(s.pipe[0]), 0, 0, 0, 0)
}

// become turns this process into the program, or says which step failed.
//
//go:nosplit
//go:norace
func become(s *initState) {
	s.reportFD = s.pipe[1]
	if !s.namespace { // a guardian can be killed; take the program along
		call(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
	}
	if _, e := call(syscall.SYS_SETSID, 0, 0, 0, 0, 0); e != 0 {
		fail(s, stepSession, e)
	}
	if s.fds[slotCgroupProcs] >= 0 {
		if _, e := call(syscall.SYS_WRITE, slotCgroupProcs, addr(textZero), 1, 0, 0); e != 0 {
			fail(s, stepCgroup, e)
		}
	}
	for sig := uintptr(1); sig <= 64; sig++ {
		if s.reset&(1<<(sig-1)) != 0 { // of some the kernel lets nobody
			call(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&s.action)), 0, 8, 0)
		}
	}
	call(syscall.SYS_RT_SIGPROCMASK, 2 /* SIG_SETMASK */, uintptr(unsafe.Pointer(&s.none)), 0, 8, 0)
	carryOut(s, s.become, stepBecome)
	_, e := call(unix.SYS_EXECVEAT, uintptr(*s.execFD), addr(emptyPath), s.argv, s.envp, unix.AT_EMPTY_PATH)
	fail(s, stepExec, e)
}

// reap collects every process that has ended. When none is left after the
// leader's end, the process in between has done its work.
//
//go:nosplit
//go:norace
func reap(s *initState) {
	for {
		r, e := call(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&s.status)), syscall.WNOHANG|unix.WALL, 0, 0)
		switch {
		case e == syscall.EINTR:
		case e != 0: // ECHILD
			if s.leaderDone {
				carryOut(s, s.spent, stepSpent)
				tell(s, reportEmpty, s.leftovers, tookOf(s))
				call(syscall.SYS_EXIT_GROUP, 0, 0, 0, 0, 0)
			}
			return
		case r == 0:
			return
		case int32(r) == s.leader:
			s.leaderDone = true
			tell(s, reportLeader, s.status, 0)
		case s.leaderDone:
			s.leftovers++
		}
	}
}

// waitForSignal sleeps until a child ended or the supervisor wants something.
// All signals are blocked, so none is lost and none has a handler. Requests
// count only when they come from outside the namespace, where the sender's id
// reads as zero, or from the very supervisor.
//
//go:nosplit
//go:norace
func waitForSignal(s *initState) {
	timeout := uintptr(0)
	if s.killing {
		timeout = uintptr(unsafe.Pointer(&s.timeout))
	}
	r, e := call(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&s.all)), uintptr(unsafe.Pointer(&s.info)), timeout, 8, 0)
	if e == 0 && syscall.Signal(r) != syscall.SIGCHLD {
		sender := *(*int32)(unsafe.Pointer(&s.info[16]))
		if s.namespace && sender != 0 || !s.namespace && sender != s.supervisor {
			return
		}
		if syscall.Signal(r) == requestKill {
			s.killing = true
		} else if s.namespace {
			call(syscall.SYS_KILL, ^uintptr(0), r, 0, 0, 0)
		}
	}
	if s.killing {
		killAll(s)
	}
}

// killAll ends every process below. A guardian can only see its direct
// children; it is called again as their children come to it.
//
//go:nosplit
//go:norace
func killAll(s *initState) {
	if s.namespace {
		call(syscall.SYS_KILL, ^uintptr(0), uintptr(syscall.SIGKILL), 0, 0, 0)
		return
	}
	if s.fds[slotCgroupKill] >= 0 {
		call(syscall.SYS_WRITE, slotCgroupKill, addr(textOne), 1, 0, 0)
	}
	self, _ := call(syscall.SYS_GETPID, 0, 0, 0, 0, 0)
	namePath(s, self)
	at := unix.AT_FDCWD
	fd, e := call(syscall.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&s.path)), syscall.O_RDONLY|syscall.O_CLOEXEC, 0, 0)
	if e != 0 {
		return
	}
	size, e := call(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&s.children)), uintptr(len(s.children)), 0, 0)
	call(syscall.SYS_CLOSE, fd, 0, 0, 0, 0)
	for from := uintptr(0); e == 0 && from < size; {
		pid, next := nextChild(s, from, size)
		if pid > 0 {
			call(syscall.SYS_KILL, pid, uintptr(syscall.SIGKILL), 0, 0, 0)
		}
		from = next
	}
}

// tell writes one report. Without a reader the supervisor is gone, and so is the run.
//
//go:nosplit
//go:norace
func tell(s *initState, kind, a, b int32) {
	s.out = report{kind: kind, a: a, b: b}
	if _, e := call(syscall.SYS_WRITE, uintptr(s.reportFD), uintptr(unsafe.Pointer(&s.out)), reportSize, 0, 0); e != syscall.EPIPE {
		return
	}
	if s.namespace || s.leader == 0 {
		call(syscall.SYS_EXIT_GROUP, 1, 0, 0, 0, 0)
	}
	s.killing = true
}

//go:nosplit
//go:norace
func fail(s *initState, step uintptr, errno syscall.Errno) {
	tell(s, reportFailed, int32(step), int32(errno))
	call(syscall.SYS_EXIT_GROUP, 1, 0, 0, 0, 0)
}
