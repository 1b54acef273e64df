package spawn

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/filter/denied"
	"paddock/internal/contain/lifecycle"
)

// A Program is a started program and the tree below it.
type Program struct {
	// Isolation is the means that holds the tree.
	Isolation paddock.Isolation

	holder int // the process in between, ours to reap
	leader int // the program, in our numbering; zero if not known
	group  *lifecycle.Cgroup
	given  bool // group is somebody else's to remove
	// listener hears what the program is denied; nil without a filter.
	listener *os.File
	// socket is where the run's way out listens; nil without one.
	socket *os.File
	// terminal is where is read and typed, side the program's side of it; nil without one.
	terminal, side *os.File
	// routes count what finds no way out of the run's own network.
	routes  []*os.File
	mounts  *os.File // see mountsOf
	exit    chan Exit
	empty   chan struct{}
	done    chan struct{}
	end     End
	exited  bool          // the leader's exit was passed on
	took    time.Duration // of processors, by those that the process in between reaped
	early   bool          // empty was closed before the process in between was reaped
	beneath bool          // see contain.Plan

	reaping sync.Mutex
	reaped  bool // the process in between, and what it took is in our children's; guarded by reaping
}

type cgroupFiles struct{ procs, kill *os.File }

// startLimit bounds the time from the fork to the program.
const startLimit = 30 * time.Second

// errSilent is how the process in between ends that never began.
var errSilent = errors.New("the process in between ended before it began")

// Start starts the program that spec describes, held by the first means of
// spec.Isolation that the kernel gives, and returns once it has become the
// program. The caller keeps its descriptors and may close them then.
//
// The error is a [*StartError] when a step failed; nothing is left running.
func Start(spec Spec) (*Program, error) {
	if len(spec.Argv) == 0 || spec.Exec == nil || spec.Stdin == nil || spec.Stdout == nil || spec.Stderr == nil || spec.Plan == nil {
		return nil, &StartError{"spec", errors.New("incomplete")}
	}
	if spec.Ahead.fits(&spec) {
		p, err := spec.Ahead.run(&spec)
		if failed, ok := errors.AsType[*StartError](err); err == nil || !errors.Is(err, errNotAhead) && ok && failed.Step != stepAhead && !errors.Is(err, errSilent) {
			return p, err
		}
	} else {
		spec.Ahead.Close()
	}
	var refused []error
	if spec.Plan.UserNamespace { // nothing less will do
		spec.Isolation = []paddock.Isolation{paddock.UserPIDNamespace}
	}
	for _, isolation := range spec.Isolation {
		p, err := start(&spec, isolation)
		if errors.Is(err, errSilent) && !spec.Plain {
			spec.Plain = true
			p, err = start(&spec, isolation)
		}
		if err == nil {
			return p, nil
		}
		if !unavailable(isolation, err) {
			return nil, err
		}
		refused = append(refused, fmt.Errorf("%s: %w", isolation, err))
	}
	if len(refused) == 0 {
		refused = append(refused, errors.New("no means given"))
	}
	return nil, &StartError{"hold the tree", errors.Join(refused...)}
}

// unavailable tells a means that this kernel or user doesn't have from a
// program that can't be started by any means.
func unavailable(isolation paddock.Isolation, err error) bool {
	var failed *StartError
	if isolation == paddock.Guardian || !errors.As(err, &failed) {
		return false
	}
	switch failed.Step {
	case "clone", "cgroup", stepNames[stepUserNamespace], "mount namespace":
		return true
	}
	return false
}

func newProgram(isolation paddock.Isolation) *Program {
	return &Program{Isolation: isolation, exit: make(chan Exit, 1), empty: make(chan struct{}), done: make(chan struct{})}
}

func start(spec *Spec, isolation paddock.Isolation) (*Program, error) {
	p := newProgram(isolation)
	files, err := p.heldBy(spec, isolation)
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go p.hold(spec, files, started)
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// hold forks the process in between and stays with it: the kernel ends that
// process when the thread that forked it ends, so this goroutine keeps its
// thread from the fork to the reaping.
func (p *Program) hold(spec *Spec, files cgroupFiles, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer p.over()
	state, reports, err := p.forkHolder(spec, files)
	if err != nil {
		p.removeCgroup()
		started <- err
		return
	}
	started <- p.begin(state, reports)
	p.stay(reports)
	p.removeCgroup()
}

// over tells everybody that nothing is left.
func (p *Program) over() {
	close(p.done)
	if !p.early {
		close(p.empty)
	}
	_ = p.mounts.Close() // nil, too
}

// begin sees the start through.
func (p *Program) begin(state *launch, reports *net.UnixConn) error {
	p.beneath = state.plan.Beneath
	err := p.awaitStart(state, reports)
	_ = state.memory.free() // the children have their own
	if err == nil {
		p.leader = lifecycle.FirstChild(p.holder)
		p.mounts = mountsOf(p)
	}
	if err != nil { // nobody will take them; closing nil is harmless
		_, _, _, _ = p.listener.Close(), p.socket.Close(), p.terminal.Close(), p.side.Close()
		p.closeRoutes()
	}
	return err
}

// stay sees the end through. It is for the thread that forked the process in between.
func (p *Program) stay(reports *net.UnixConn) {
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		p.follow(reports)
	}()
	p.reapHolder()
	runtime.UnlockOSThread() // any thread will do: to wake this one takes another first
	// The pipe's end is no sign of the holder's: a program with root's rights
	// can hand its other end to a process that stays. What was reported is read.
	_ = reports.SetReadDeadline(time.Unix(1, 0)) // pipes can have deadlines
	<-followed
	p.followRest(reports)
	_ = reports.Close() // nothing more is read
}

// forks counts what this process has forked, or tried to.
var forks atomic.Int64

// Forks returns how many processes this one has forked, for tests that count them.
// Each of them forks one more, at most, which becomes the program.
func Forks() int { return int(forks.Load()) }

func (p *Program) forkHolder(spec *Spec, files cgroupFiles) (*launch, *net.UnixConn, error) {
	reports, theirs, err := reportPair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	state, err := newLaunch(spec, p.Isolation, theirs, files)
	if err != nil {
		return nil, nil, errors.Join(err, reports.Close())
	}
	if spec.tamper != nil {
		spec.tamper(state)
	}
	forks.Add(1)
	pid, err := forkAs(state, spec.Plan.Account)
	runtime.KeepAlive(spec)
	_ = state.memory.free() // the children have their own
	if err != nil {
		return nil, nil, errors.Join(err, reports.Close())
	}
	p.holder = pid
	return state, reports, nil
}

// awaitStart waits for the program to become the program. Not for ever: one with
// root's rights can stop the process in between before that has told us.
func (p *Program) awaitStart(state *launch, reports *net.UnixConn) error {
	_ = reports.SetReadDeadline(time.Now().Add(startLimit)) // sockets can have deadlines
	began := false
	for {
		r, file, err := readReport(reports)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.Destroy()
			return &StartError{"start", fmt.Errorf("the process in between said nothing for %s and was ended", startLimit)}
		case err != nil && !began:
			return &StartError{"start", errSilent}
		case err != nil:
			return &StartError{"start", fmt.Errorf("the process in between ended without a report: %w", err)}
		}
		began = true
		switch r.kind {
		case reportHello:
			if state.plan.Namespaces&unix.CLONE_NEWNET != 0 {
				p.routes = denied.Routes(p.holder)
				_, _ = reports.Write([]byte{0}) // it waits for that: else all could be over first
			}
		case reportListener:
			p.listener = file
		case reportSocket:
			p.socket = file
		case reportTerminal:
			p.terminal = file
		case reportProgramSide:
			p.side = file
		case reportStarted:
			return reports.SetReadDeadline(time.Time{})
		case reportFailed:
			return &StartError{state.stepName(r.a), syscall.Errno(r.b)}
		}
	}
}

// follow passes on the leader's exit and ends when there is nothing to report, or nothing
// more is believed.
func (p *Program) follow(reports *net.UnixConn) {
	for !p.early {
		r, _, err := readReport(reports)
		if err != nil {
			return
		}
		p.take(r)
	}
}

// followRest takes what is there and waits for nobody. A socket of reports holds
// no more than its buffer, so it ends.
func (p *Program) followRest(reports *net.UnixConn) {
	for range 64 << 10 / reportSize {
		r, err := reportReady(reports)
		if err != nil {
			return
		}
		p.take(r)
	}
}

// reapHolder waits for the process in between. Of a namespace's init the kernel
// reports the end only when every process of the namespace is gone.
func (p *Program) reapHolder() {
	status := p.wait()
	if p.Isolation.Tree() == paddock.TreeBestEffort && (status.Signaled() || status.ExitStatus() != 0) {
		// The guardian was ended by somebody else, so nobody swept.
		if p.leader != 0 && syscall.Kill(p.leader, 0) == nil {
			p.end.Survivors = 1
		}
	}
	if p.group != nil {
		members, err := p.group.Members()
		if err == nil && len(members) > 0 {
			_, _ = p.group.Kill.WriteString("1") // counted below if it didn't help
			members, err = p.group.Members()
		}
		if err == nil {
			p.end.Survivors = len(members)
		}
	}
}

// wait reaps the process in between.
func (p *Program) wait() (status syscall.WaitStatus) {
	for errors.Is(unix.Waitid(unix.P_PID, p.holder, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	p.reaping.Lock()
	defer p.reaping.Unlock()
	for {
		_, err := syscall.Wait4(p.holder, &status, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			p.reaped = true
			return status
		}
	}
}

// Took returns the time of processors that ended, what this process's children took
// that were waited for, comes to when the tree is counted that is gone.
func (p *Program) Took(ended func() time.Duration) time.Duration {
	p.reaping.Lock()
	defer p.reaping.Unlock()
	select {
	case <-p.empty:
	default:
		return ended() // its end was given up
	}
	if p.reaped {
		return ended()
	}
	return ended() + p.took
}

// Holder returns the process in between, which is in the run's namespaces.
func (p *Program) Holder() int { return p.holder }

// Listener returns the descriptor on which denied system calls are heard, nil if
// there is no filter. Whoever takes it closes it, and must answer on it: the
// program waits.
func (p *Program) Listener() *os.File { return p.listener }

// Socket returns the socket, listening inside the run's network, on which its way
// out is to be served; nil if the plan makes none. Whoever takes it closes it.
func (p *Program) Socket() *os.File { return p.socket }

// Terminal returns the side of the program's terminal at which is read what it prints and
// typed what it reads, and the program's own; nil if the plan makes none. Whoever takes
// them closes them.
func (p *Program) Terminal() (ours, theirs *os.File) { return p.terminal, p.side }

func (p *Program) closeRoutes() {
	for _, f := range p.routes {
		_ = f.Close() // read only
	}
	p.routes = nil
}

// Routes returns what counts, in a network of the run's own, what found no way
// out. Whoever takes them closes them.
func (p *Program) Routes() []*os.File { return p.routes }

// Leader returns the program's process id, or zero when it isn't known.
func (p *Program) Leader() int { return p.leader }

// Exited delivers the leader's exit once, unless the tree was killed before.
func (p *Program) Exited() <-chan Exit { return p.exit }

// Empty is closed when no process of the tree is left; End is set by then. What the
// tree was in, its mounts and its network, the kernel may still be taking away.
func (p *Program) Empty() <-chan struct{} { return p.empty }

// Done is closed when nothing of the tree is left, and the process in between is reaped.
func (p *Program) Done() <-chan struct{} { return p.done }

// End tells what was found; it is valid after Empty is closed.
func (p *Program) End() End { return p.end }

// Signal sends sig, a request to end, to every process of the tree. It doesn't
// wait, and says nothing when the tree is gone already.
func (p *Program) Signal(sig syscall.Signal) {
	select {
	case <-p.done:
		return
	default:
	}
	if p.Isolation == paddock.PIDNamespace || p.Isolation == paddock.UserPIDNamespace {
		_ = syscall.Kill(p.holder, sig) // it passes the signal on to all
		return
	}
	for _, pid := range lifecycle.Descendants(p.holder) {
		_ = syscall.Kill(pid, sig)
	}
}

// Kill ends every process of the tree, as surely as Isolation promises. It
// doesn't wait: Done is closed when they are gone. Killing again is harmless.
func (p *Program) Kill() {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(p.holder, requestKill)
	}
}

// Destroy ends the process in between itself, for when it doesn't answer: with
// a namespace the kernel ends all the rest.
func (p *Program) Destroy() {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(p.holder, syscall.SIGKILL)
	}
}
