package spawn

import (
	"errors"
	"os"
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
	stepWait   = 3000 // and more: a call of a process that was forked ahead
	stepSpent  = 4000
)

var stepNames = [...]string{"fork", "descriptors", "user namespace", "session", "cgroup", "exec"}

// Kinds of reports.
const (
	reportHello   = iota
	reportStarted = contain.ReportStarted
	reportFailed  = iota // a is the step, b the errno
	reportLeader         // a is the wait status
	reportEmpty          // a is the number of leftovers, b the milliseconds of processors that all took
	// A listener comes with the program's last step before its execution.
	reportListener = contain.ReportListener
	// The socket of the way out comes before the program is forked.
	reportSocket = contain.ReportSocket
	// So does the run's terminal.
	reportTerminal    = contain.ReportTerminal
	reportProgramSide = contain.ReportProgramSide
)

type report struct{ kind, a, b, pad int32 }

const (
	reportSize = 16
	// requestKill tells the process in between to end everything. It is also
	// what the kernel sends a guardian whose supervisor died.
	requestKill = syscall.SIGUSR1
)

// initState is all that the process in between works with. It lies in the memory
// of its start, and so does everything it leads to.
type initState struct {
	flags      uintptr
	namespace  bool // it is the init of a PID namespace
	shares     bool // the program shares its memory until its execution
	supervisor int32
	fds        [slots]int32 // in the supervisor's numbering; -1 is absent
	used       int          // slots that there are in this start
	high       [slots]int32
	reportFD   int32
	argv, envp uintptr
	uidMap     text
	gidMap     text
	wait       []op // before there is a run
	answer     []op // waits until what counts in a network of its own is open
	grouped    bool // the run's cgroup is among the descriptors that came after that
	setup      []op // what a plan says, lowered
	become     []op
	execFD     *int32 // where the descriptor to execute is by then
	reset      uint64 // signals that the program would not get as it should

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
	spent      []op // puts into usage what the children took
	usage      syscall.Rusage
	message    unix.Msghdr // by which descriptors come to who was forked ahead
	part       unix.Iovec
	word       [8]byte
	rights     rights
	path       [64]byte
	children   [4096]byte
	arg        [6]uintptr
	clone      cloneArgs
	stack      uintptr // of the program, its top
	entry      uintptr // where the program begins, before its execution
}

// cloneArgs is struct clone_args of clone3.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 // the first version of it
}

// A text is bytes in the memory.
type text struct{ at, size uintptr }

// An op is a contain.Call as the child can carry it out.
type op struct {
	nr        uintptr
	args      [6]uintptr
	cells     [6]*int32 // where not nil, the argument is what is there
	into      *int32
	accept    []syscall.Errno
	got, want []byte
}

// A launch is what the supervisor knows of a start: the state, and what the steps of
// its plan are called.
type launch struct {
	*initState
	begin     uintptr // where the process in between begins, but by the plain road
	memory    *memory
	plan      *contain.Plan
	lifecycle []contain.Call
	built     bool // the ground of its run is there
}

// lower turns calls into ops that work with m.
func (m *memory) lower(lists ...[]contain.Call) []op {
	n := 0
	for _, calls := range lists {
		n += len(calls)
	}
	if n == 0 {
		return nil
	}
	ops := unsafe.Slice((*op)(m.at(m.take(uintptr(n)*unsafe.Sizeof(op{})))), n)[:0]
	for _, calls := range lists {
		for i := range calls {
			ops = append(ops, m.lowerOne(&calls[i]))
		}
	}
	return ops
}

func (m *memory) lowerOne(c *contain.Call) op {
	o := op{nr: c.Nr, got: m.bytes(c.Got), want: m.bytes(c.Want)}
	for j, arg := range c.Args {
		number, b, pointers, result := arg.Parts()
		switch {
		case b == nil:
			o.args[j] = number
		case result:
			o.cells[j] = (*int32)(m.moved(b))
		default:
			o.args[j] = uintptr(m.moved(b))
			m.point(b, pointers)
		}
	}
	if len(c.Into) >= 4 {
		o.into = (*int32)(m.moved(c.Into))
	}
	if len(c.Accept) > 0 {
		at := m.at(m.take(uintptr(len(c.Accept)) * unsafe.Sizeof(c.Accept[0])))
		o.accept = unsafe.Slice((*syscall.Errno)(at), len(c.Accept))
		copy(o.accept, c.Accept)
	}
	return o
}

func (m *memory) bytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(m.moved(b)), len(b))
}

// text puts s there.
func (m *memory) text(s string) text {
	at := m.at(m.take(uintptr(len(s))))
	copy(unsafe.Slice((*byte)(at), len(s)), s)
	return text{uintptr(at), uintptr(len(s))}
}

// opsSize is what lower takes.
func opsSize(lists ...[]contain.Call) uintptr {
	size := uintptr(0)
	for _, calls := range lists {
		size += aligned(uintptr(len(calls)) * unsafe.Sizeof(op{}))
		for i := range calls {
			size += aligned(uintptr(len(calls[i].Accept)) * unsafe.Sizeof(syscall.Errno(0)))
		}
	}
	return size
}

// stepName says what failed.
func (s *launch) stepName(step int32) string {
	calls, i := s.lifecycle, int(step-stepSetup)
	switch {
	case step >= stepWait:
		return stepAhead
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

// newLaunch prepares what the children need. Its memory is to be freed once they
// are forked.
func newLaunch(spec *Spec, isolation paddock.Isolation, reportFD *os.File, group cgroupFiles) (*launch, error) {
	s, files, err := newLaunchIn(nil, spec, isolation, reportFD, group)
	if err == nil {
		s.descriptors(files)
	}
	return s, err
}

// newLaunchIn prepares it in the memory of a process that was forked ahead, if there is
// one, and also returns the files for the slots.
func newLaunchIn(ahead *launch, spec *Spec, isolation paddock.Isolation, reportFD *os.File, group cgroupFiles) (*launch, []*os.File, error) {
	if len(spec.Plan.Files) > mostFiles {
		return nil, nil, &StartError{"descriptors", errors.New("the plan hands over too many")}
	}
	s := &launch{plan: spec.Plan}
	namespace := isolation == paddock.PIDNamespace || isolation == paddock.UserPIDNamespace
	if namespace && !spec.Plan.UserNamespace { // a plan with its own tree does this in its own way
		s.lifecycle = contain.Private()
	}
	if spec.Plan.Ground != nil && (ahead == nil || !ahead.built) {
		s.lifecycle = spec.Plan.Ground.Calls()
	}
	uid, gid := idMaps(spec, isolation)
	size := stringsSize(spec.Argv) + stringsSize(spec.Env) + 4096 + opsSize(s.lifecycle, spec.Plan.Setup, spec.Plan.Become)
	if ahead != nil {
		s.memory, s.initState = ahead.memory, ahead.initState
		if err := s.memory.collect(size, s.lifecycle, spec.Plan.Setup, spec.Plan.Become, execOf(spec.Plan)); err != nil {
			return nil, nil, &StartError{"memory", err}
		}
	} else {
		var err error
		if s.memory, err = newMemory(aligned(unsafe.Sizeof(initState{}))+size, s.lifecycle, spec.Plan.Setup, spec.Plan.Become, execOf(spec.Plan)); err != nil {
			return nil, nil, &StartError{"memory", err}
		}
		s.initState = (*initState)(s.memory.at(s.memory.take(unsafe.Sizeof(initState{}))))
	}
	m := s.memory
	m.move(true)
	m.move(false)
	if ahead == nil { // else it has begun
		s.begins(namespace, spec.Plan.Namespaces|namespaces[isolation])
		if s.shares = ownStacks && !spec.Plain; s.flags&unix.CLONE_NEWNET != 0 {
			s.answer = m.lower(contain.Answered(slotReport, uintptr(unsafe.Pointer(&s.word))))
		}
	}
	var err error
	if s.argv, err = m.strings(spec.Argv); err != nil {
		return nil, nil, errors.Join(&StartError{"argv", err}, m.free())
	}
	if s.envp, err = m.strings(spec.Env); err != nil {
		return nil, nil, errors.Join(&StartError{"environment", err}, m.free())
	}
	s.uidMap, s.gidMap = m.text(uid), m.text(gid)
	s.setup, s.become = m.lower(s.lifecycle, spec.Plan.Setup), m.lower(spec.Plan.Become)
	fallback := (*int32)(m.at(m.take(4)))
	*fallback = slotExec
	if s.execFD = fallback; len(spec.Plan.Exec) >= 4 {
		s.execFD = (*int32)(m.moved(spec.Plan.Exec))
	}
	s.spent = m.lower(contain.Spent(uintptr(unsafe.Pointer(&s.usage))))
	files := append([]*os.File{spec.Stdin, spec.Stdout, spec.Stderr, reportFD, spec.Exec, group.procs, group.kill}, spec.Plan.Files...)
	s.used = len(files)
	return s, files, nil
}

// begins sets what the process in between is and how it is forked.
func (s *launch) begins(namespace bool, flags uintptr) {
	m := s.memory
	s.namespace, s.flags = namespace, flags
	s.supervisor, s.all = int32(os.Getpid()), ^uint64(0)
	s.timeout = syscall.Timespec{Nsec: 10_000_000}
	s.shares, s.reset = ownStacks, lifecycle.IgnoredSignals()
	s.stack, s.begin, s.entry = uintptr(m.at(stackOfProgram)), entryOf(initMain), entryOf(become)
	s.clone = cloneArgs{
		flags: uint64(s.flags) | unix.CLONE_SETTLS | unix.CLONE_CLEAR_SIGHAND, exitSignal: uint64(syscall.SIGCHLD),
		stack: uint64(uintptr(m.base)), stackSize: stackOfInit, tls: uint64(uintptr(m.at(threadPointer))),
	}
}

// execOf is a call that only leads to where the plan says which descriptor is executed.
func execOf(plan *contain.Plan) []contain.Call {
	if len(plan.Exec) == 0 {
		return nil
	}
	return []contain.Call{{Into: plan.Exec}}
}

// Rehearse prepares the start of spec, forgets it, and starts nothing: what is done
// for the first time takes longer.
func Rehearse(spec Spec) error {
	s, err := newLaunch(&spec, paddock.UserPIDNamespace, spec.Stderr, cgroupFiles{})
	if err != nil {
		return err
	}
	return s.memory.free()
}

// namespaces are the flags by which each means holds the tree.
var namespaces = map[paddock.Isolation]uintptr{
	paddock.PIDNamespace:     unix.CLONE_NEWPID | unix.CLONE_NEWNS,
	paddock.UserPIDNamespace: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS,
}

// idMaps returns the maps of the user namespace, if there is to be one.
func idMaps(spec *Spec, isolation paddock.Isolation) (uid, gid string) {
	switch {
	case isolation != paddock.UserPIDNamespace:
		return "", ""
	case spec.Plan.UIDMap != "":
		return spec.Plan.UIDMap, spec.Plan.GIDMap
	}
	uid, gid = strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	return uid + " " + uid + " 1\n", gid + " " + gid + " 1\n"
}

func (s *launch) descriptors(files []*os.File) {
	s.reportFD = int32(files[slotReport].Fd())
	for i := range s.fds {
		s.fds[i] = -1
		if i < len(files) && files[i] != nil {
			s.fds[i] = int32(files[i].Fd())
		}
	}
}

// Constants, since variables aren't there.
const (
	pathSetgroups = "/proc/self/setgroups\x00"
	pathUIDMap    = "/proc/self/uid_map\x00"
	pathGIDMap    = "/proc/self/gid_map\x00"
	pathChildren  = "/proc/self/task/"
	nameChildren  = "/children\x00"
	textDeny      = "deny"
	textZero      = "0"
	textOne       = "1"
	emptyPath     = "\x00"
)

// failed tells an error of the kernel from a result.
//
//go:nosplit
//go:norace
func failed(r uintptr) bool { return r > ^uintptr(4095) }

// writeMaps gives the user namespace one id: our own, mapped to itself.
//
//go:nosplit
//go:norace
func writeMaps(s *initState) {
	writeFile(s, addr(pathSetgroups), addr(textDeny), uintptr(len(textDeny)))
	writeFile(s, addr(pathUIDMap), s.uidMap.at, s.uidMap.size)
	writeFile(s, addr(pathGIDMap), s.gidMap.at, s.gidMap.size)
}

// tookOf is how many milliseconds of processors those took that were reaped, and
// those that they waited for. It runs in the child.
//
//go:nosplit
//go:norace
func tookOf(s *initState) int32 {
	u := &s.usage
	return int32((u.Utime.Sec+u.Stime.Sec)*1000 + (u.Utime.Usec+u.Stime.Usec)/1000)
}

// namePath puts the path by which the process self finds its children into the
// state. It runs in the child.
//
//go:nosplit
//go:norace
func namePath(s *initState, self uintptr) {
	n := 0
	for i := range len(pathChildren) {
		s.path[n] = pathChildren[i]
		n++
	}
	div := uintptr(1)
	for self/div >= 10 {
		div *= 10
	}
	for ; div > 0; div /= 10 {
		s.path[n] = byte('0' + self/div%10)
		n++
	}
	for i := range len(nameChildren) {
		s.path[n] = nameChildren[i]
		n++
	}
}

// nextChild reads the next number of those that the kernel wrote, zero if there
// is none, and says where it ends. It runs in the child.
//
//go:nosplit
//go:norace
func nextChild(s *initState, from, size uintptr) (pid, next uintptr) {
	for ; from < size; from++ {
		c := s.children[from]
		if c >= '0' && c <= '9' {
			pid = pid*10 + uintptr(c-'0')
		} else if pid > 0 {
			break
		}
	}
	return pid, from
}
