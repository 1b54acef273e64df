package spawn

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
)

// The descriptors of the process in between, after it moved them.
const (
	slotStdin = iota
	slotStdout
	slotStderr
	slotReport      // reports go here; the only one it keeps
	slotExec        // what is executed: contain.SlotExec
	slotCgroupProcs // the run's cgroup, where there is one
	slotCgroupKill
	slotFiles // those of the plan, from contain.FirstFile on
	slots     = slotFiles + mostFiles
)

// mostFiles is how many descriptors a plan can hand over.
const mostFiles = 40

// The steps of starting, as reported by number.
const (
	stepFork = iota
	stepDescriptors
	stepUserNamespace
	stepSession
	stepCgroup
	stepExec
	stepSetup  = 1000 // and more: a call of the process in between
	stepBecome = 2000 // and more: a call of the program
)

var stepNames = [...]string{"fork", "descriptors", "user namespace", "session", "cgroup", "exec"}

// Kinds of reports.
const (
	reportHello   = iota
	reportStarted = contain.ReportStarted
	reportFailed  = iota // a is the step, b the errno
	reportLeader         // a is the wait status
	reportEmpty          // a is the number of leftovers
	// A listener comes with the program's last step before its execution.
	reportListener = contain.ReportListener
	// The socket of the way out comes before the program is forked.
	reportSocket = contain.ReportSocket
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
	used       int          // slots that there are in this start
	high       [slots]int32
	reportFD   int32
	argv, envp uintptr    // into keep
	keep       [2][]*byte // so that the collector leaves them
	uidMap     []byte
	gidMap     []byte
	setup      []op // what a plan says, lowered
	become     []op
	execFD     *int32 // where the descriptor to execute is by then
	plan       *contain.Plan
	lifecycle  []contain.Call
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
	arg        [6]uintptr
}

// An op is a contain.Call as the child can carry it out.
type op struct {
	nr        uintptr
	args      [6]uintptr
	cells     [6]*int32 // where not nil, the argument is what is there
	into      *int32
	accept    []syscall.Errno
	got, want []byte
}

// lower turns calls into ops. The memory that they name is that of the calls.
func lower(calls []contain.Call) []op {
	ops := make([]op, len(calls))
	for i, c := range calls {
		o := op{nr: c.Nr, accept: c.Accept, got: c.Got, want: c.Want}
		for j, arg := range c.Args {
			o.args[j], o.cells[j] = arg.Lower()
		}
		if len(c.Into) >= 4 {
			o.into = (*int32)(unsafe.Pointer(unsafe.SliceData(c.Into)))
		}
		ops[i] = o
	}
	return ops
}

// stepName says what failed.
func (s *initState) stepName(step int32) string {
	calls, i := s.lifecycle, int(step-stepSetup)
	switch {
	case step >= stepBecome:
		calls, i = s.plan.Become, int(step-stepBecome)
	case step >= stepSetup:
		if i >= len(s.lifecycle) {
			calls, i = s.plan.Setup, i-len(s.lifecycle)
		}
	default:
		if step >= 0 && int(step) < len(stepNames) {
			return stepNames[step]
		}
		return "an unknown step"
	}
	if i < 0 || i >= len(calls) {
		return "an unknown step"
	}
	return calls[i].Step
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
	files := []*os.File{spec.Stdin, spec.Stdout, spec.Stderr, reportFD, spec.Exec, group.procs, group.kill}
	if len(spec.Plan.Files) > mostFiles {
		return nil, &StartError{"descriptors", errors.New("the plan hands over too many")}
	}
	files = append(files, spec.Plan.Files...)
	s.used = len(files)
	for i := range s.fds {
		s.fds[i] = -1
		if i < len(files) && files[i] != nil {
			s.fds[i] = int32(files[i].Fd())
		}
	}
	s.plan = spec.Plan
	switch isolation {
	case paddock.PIDNamespace:
		s.flags, s.namespace = unix.CLONE_NEWPID|unix.CLONE_NEWNS, true
	case paddock.UserPIDNamespace:
		s.flags, s.namespace = unix.CLONE_NEWUSER|unix.CLONE_NEWPID|unix.CLONE_NEWNS, true
		uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
		s.uidMap, s.gidMap = []byte(uid+" "+uid+" 1\n"), []byte(gid+" "+gid+" 1\n")
		if spec.Plan.UIDMap != "" {
			s.uidMap, s.gidMap = []byte(spec.Plan.UIDMap), []byte(spec.Plan.GIDMap)
		}
	}
	s.flags |= spec.Plan.Namespaces
	if s.namespace && !spec.Plan.UserNamespace { // a plan with its own tree does this in its own way
		s.lifecycle = contain.Private()
	}
	s.setup = lower(append(slices.Clone(s.lifecycle), spec.Plan.Setup...))
	s.become = lower(spec.Plan.Become)
	fallback := int32(slotExec)
	s.execFD = &fallback
	if len(spec.Plan.Exec) >= 4 {
		s.execFD = (*int32)(unsafe.Pointer(unsafe.SliceData(spec.Plan.Exec)))
	}
	s.ignored = lifecycle.IgnoredSignals()
	return s, nil
}
