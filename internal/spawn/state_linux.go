package spawn

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
)

// The descriptors of the process in between, after it moved them.
const (
	slotStdin = iota
	slotStdout
	slotStderr
	slotReport      // reports go here; the only one it keeps
	slotExec        // what is executed
	slotDir         // where
	slotCgroupProcs // the run's cgroup, where there is one
	slotCgroupKill
	slots
)

// The steps of starting, as reported by number.
const (
	stepFork = iota
	stepDescriptors
	stepUserNamespace
	stepMountPrivate
	stepSession
	stepCgroup
	stepRlimit
	stepDirectory
	stepExec
)

var stepNames = [...]string{"fork", "descriptors", "user namespace", "mount namespace", "session", "cgroup", "open files limit", "working directory", "exec"}

// Kinds of reports.
const (
	reportHello = iota
	reportStarted
	reportFailed // a is the step, b the errno
	reportLeader // a is the wait status
	reportEmpty  // a is the number of leftovers
)

type report struct{ kind, a, b, pad int32 }

const (
	reportSize = 16
	// requestKill tells the process in between to end everything. It is also
	// what the kernel sends a guardian whose supervisor died.
	requestKill = syscall.SIGUSR1
)

// initState is all that the process in between works with.
type initState struct {
	flags      uintptr
	namespace  bool // it is the init of a PID namespace
	supervisor int32
	fds        [slots]int32 // in the supervisor's numbering; -1 is absent
	high       [slots]int32
	reportFD   int32
	argv, envp uintptr    // into keep
	keep       [2][]*byte // so that the collector leaves them
	uidMap     []byte
	gidMap     []byte
	rlimit     unix.Rlimit
	setRlimit  bool
	ignored    uint64 // signals that the program would inherit as ignored

	all, none  uint64 // signal sets
	action     [4]uintptr
	info       [128]byte
	timeout    syscall.Timespec
	status     int32
	pipe       [2]int32
	out        report
	leader     int32
	leaderDone bool
	killing    bool
	leftovers  int32
	path       [64]byte
	children   [4096]byte
	pollfd     [8]byte
}

// newState prepares what the child needs. The result must stay referenced
// until fork returned.
func newState(spec *Spec, isolation paddock.Isolation, reportFD *os.File, group cgroupFiles) (*initState, error) {
	argv, err := syscall.SlicePtrFromStrings(spec.Argv)
	if err != nil {
		return nil, &StartError{"argv", err}
	}
	envp, err := syscall.SlicePtrFromStrings(spec.Env)
	if err != nil {
		return nil, &StartError{"environment", err}
	}
	s := &initState{
		supervisor: int32(os.Getpid()),
		argv:       uintptr(unsafe.Pointer(&argv[0])),
		envp:       uintptr(unsafe.Pointer(&envp[0])),
		all:        ^uint64(0),
		timeout:    syscall.Timespec{Nsec: 10_000_000},
		keep:       [2][]*byte{argv, envp},
		reportFD:   int32(reportFD.Fd()),
	}
	for i, f := range []*os.File{spec.Stdin, spec.Stdout, spec.Stderr, reportFD, spec.Exec, spec.Dir, group.procs, group.kill} {
		s.fds[i] = -1
		if f != nil {
			s.fds[i] = int32(f.Fd())
		}
	}
	switch isolation {
	case paddock.PIDNamespace:
		s.flags, s.namespace = unix.CLONE_NEWPID|unix.CLONE_NEWNS, true
	case paddock.UserPIDNamespace:
		s.flags, s.namespace = unix.CLONE_NEWUSER|unix.CLONE_NEWPID|unix.CLONE_NEWNS, true
		uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
		s.uidMap, s.gidMap = []byte(uid+" "+uid+" 1\n"), []byte(gid+" "+gid+" 1\n")
	}
	if spec.OpenFiles > 0 {
		n := uint64(spec.OpenFiles)
		s.rlimit, s.setRlimit = unix.Rlimit{Cur: n, Max: n}, true
	}
	s.ignored = contain.IgnoredSignals()
	return s, nil
}
