package spawn

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/filter/denied"
	"paddock/internal/contain/owner"
)

// An Ahead is a process in between that was forked before its run was there, in
// the namespaces in which nothing is found but what the run brings along. To make
// those is a good part of what a start takes.
//
// It has let go of everything of its maker's but one end of a socket and a memory
// that both see. It serves one run, which brings the rest by these two, and it
// ends with its maker, or when it is closed.
type Ahead struct {
	program *Program
	state   *launch
	reports *net.UnixConn
	full    bool
	by      paddock.Isolation   // by what it can hold its tree
	refused []paddock.Isolation // what was tried before that
	ground  *contain.Ground     // what it has built, nil if it hasn't
	start   chan struct{}       // receives when its run has begun, or hasn't; closed for none
	used    sync.Once
}

const (
	aheadNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET
	// aheadLater are views of what is outside, which may change before the run is there:
	// that of its mounts is made ahead all the same where a ground is to be built in it.
	aheadLater = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP
	// aheadSize is room for what most runs need.
	aheadSize = 256 << 10
)

// errNotAhead is of a run that is started the other way.
var errNotAhead = errors.New("not by the process that was forked ahead")

// rights is a struct cmsghdr and the descriptors that come with it.
type rights struct {
	header unix.Cmsghdr
	fds    [slots]int32
}

// ForkAhead forks a process in between for a run at level full that has no network, or
// one of its own. It builds ground, if that isn't nil, and serves no run then but those
// that build upon the same. Whether it still is the same is for the caller to know.
func ForkAhead(ground *contain.Ground) (*Ahead, error) {
	return forkAhead(&Ahead{full: true, by: paddock.UserPIDNamespace, ground: ground})
}

// ForkBetween forks one for a run at a level below, which sees what is outside: by the
// first of means that the kernel gives. It serves no run but those that would be held by
// the same.
func ForkBetween(means []paddock.Isolation) (*Ahead, error) {
	refused := []error{errNotAhead}
	for i, isolation := range means {
		a, err := forkAhead(&Ahead{by: isolation, refused: means[:i]})
		if err == nil {
			return a, nil
		}
		refused = append(refused, err)
	}
	return nil, errors.Join(refused...)
}

func forkAhead(a *Ahead) (*Ahead, error) {
	if !ownStacks {
		return nil, errNotAhead
	}
	a.program, a.start = newProgram(a.by), make(chan struct{}, 1)
	forked := make(chan error, 1)
	go a.hold(forked)
	if err := <-forked; err != nil {
		return nil, err
	}
	return a, nil
}

// Close ends it, if it was for nothing, and waits for the end of its run if it wasn't.
// Nil may be closed, too.
func (a *Ahead) Close() {
	if a != nil {
		a.used.Do(func() { close(a.start) })
		<-a.program.done
	}
}

// fits reports whether spec can be started by what was forked.
func (a *Ahead) fits(spec *Spec) bool {
	p := spec.Plan
	if a != nil && !a.full {
		return !p.UserNamespace && p.Namespaces == 0 && !spec.Plain && spec.tamper == nil && a.means(spec.Isolation) != nil
	}
	return a != nil && (a.ground == nil || a.ground.Same(p.Ground)) && p.UserNamespace && p.Namespaces|unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWUSER == aheadNamespaces|aheadLater &&
		!spec.Plain && spec.tamper == nil && (p.Account == nil) == (os.Geteuid() != 0)
}

// means are those of wanted, to be tried in order, that can still be had by it: nil if another
// would come first.
func (a *Ahead) means(wanted []paddock.Isolation) []paddock.Isolation {
	for i, isolation := range wanted {
		if a.by == isolation || namespaces[a.by]|namespaces[isolation] == 0 { // the same process serves both
			return wanted[i:]
		}
		if !slices.Contains(a.refused, isolation) {
			return nil
		}
	}
	return nil
}

// run starts spec. The error is errNotAhead if that is to be done in another way, and
// then nothing of it was done.
func (a *Ahead) run(spec *Spec) (*Program, error) {
	used := true
	a.used.Do(func() { used = false })
	if used {
		return nil, errNotAhead
	}
	// Here and not on the thread that waits, which would have to wake first.
	state, err := a.give(spec)
	if err != nil {
		close(a.start)
		<-a.program.done
		return nil, fmt.Errorf("%w: %w", errNotAhead, err)
	}
	err = a.program.begin(state, a.reports)
	a.start <- struct{}{}
	if err != nil {
		<-a.program.done
		return nil, err
	}
	return a.program, nil
}

// hold forks the process in between and stays with it, on its thread: see
// [Program.hold].
func (a *Ahead) hold(forked chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := a.program
	defer p.over()
	err := a.fork()
	if forked <- err; err != nil {
		return
	}
	defer p.removeCgroup()
	if _, begun := <-a.start; !begun {
		_ = a.reports.Close()
		p.Destroy() // it waits for that, unless somebody has stopped it
		p.reapHolder()
		p.closeRoutes()
		_ = a.state.memory.free()
		return
	}
	p.stay(a.reports)
}

func (a *Ahead) fork() error {
	reports, theirs, err := reportPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	if a.state, err = a.newLaunch(theirs); err != nil {
		return errors.Join(err, reports.Close())
	}
	var account *paddock.Account
	if a.ground != nil {
		account = &a.ground.Account
	} else if a.full && os.Geteuid() == 0 { // as for a run: what is nobody's, and beside no other run's
		id, err := paddock.NewRunID(time.Now(), nil)
		if err != nil {
			return errors.Join(err, reports.Close(), a.state.memory.free())
		}
		nobodys := owner.For(id)
		account = &nobodys
	}
	forks.Add(1)
	pid, err := forkAs(a.state, account)
	if err != nil {
		return errors.Join(err, reports.Close(), a.state.memory.free())
	}
	a.program.holder, a.reports = pid, reports
	if a.full { // its network is its run's
		a.program.routes = denied.Routes(pid)
	}
	return nil
}

// newLaunch prepares the waiting, in a memory that has room for the run's start.
func (a *Ahead) newLaunch(report *os.File) (*launch, error) {
	m := &memory{next: threadPointer, size: aheadSize}
	var err error
	m.base, err = unix.MmapPtr(-1, 0, nil, m.size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, &StartError{"memory", err}
	}
	s := &launch{memory: m, initState: (*initState)(m.at(m.take(unsafe.Sizeof(initState{})))), built: a.ground != nil}
	now, later := uintptr(aheadNamespaces), uintptr(aheadLater)
	if !a.full {
		now, later = namespaces[a.by]&^aheadLater, namespaces[a.by]&aheadLater
	}
	s.begins(namespaces[a.by] != 0, now)
	s.part = unix.Iovec{Base: &s.word[0], Len: uint64(len(s.word))}
	s.message = unix.Msghdr{Iov: &s.part, Iovlen: 1, Control: (*byte)(unsafe.Pointer(&s.rights))}
	s.message.SetControllen(int(unsafe.Sizeof(s.rights)))
	wait := contain.Wait{
		Socket: int(report.Fd()), Hello: reportHello, Memory: uintptr(m.base), Size: m.size, Message: uintptr(unsafe.Pointer(&s.message)), Later: later,
	}
	uid, gid := "", "" // an account's that isn't known yet, and written by us when it is
	switch {
	case a.ground != nil:
		wait.Ground, wait.Later = a.ground.Calls(), later&^unix.CLONE_NEWNS
		uid, gid = a.ground.Maps()
	case !a.full || os.Geteuid() != 0:
		uid, gid = idMaps(&Spec{Plan: &contain.Plan{}}, a.by)
	}
	calls := contain.Ahead(wait)
	if err := m.collect(opsSize(calls)+256, calls); err != nil {
		return nil, errors.Join(&StartError{"memory", err}, m.free())
	}
	m.move(true)
	m.move(false)
	s.wait, s.reportFD = m.lower(calls), int32(report.Fd())
	if uid != "" {
		s.uidMap, s.gidMap = m.text(uid), m.text(gid)
	}
	for i := range s.rights.fds {
		s.rights.fds[i] = -1
	}
	return s, nil
}

// give puts the start of spec where the process sees it, and hands its descriptors over.
// Until it has said that it waits it reads there what it was told before.
func (a *Ahead) give(spec *Spec) (*launch, error) {
	_ = a.reports.SetReadDeadline(time.Now().Add(startLimit)) // sockets can have deadlines
	switch r, _, err := readReport(a.reports); {
	case err != nil:
		return nil, err
	case r.kind != reportHello:
		return nil, errSilent
	}
	group, err := a.join(spec)
	if err != nil {
		return nil, err
	}
	s, files, err := newLaunchIn(a.state, spec, a.program.Isolation, nil, group)
	if err != nil {
		return nil, err
	}
	s.grouped = group.procs != nil
	if spec.Plan.Account != nil && a.ground == nil { // which only we may map
		pid := a.program.holder
		err := errors.Join(writeMap(pid, "setgroups", textDeny), writeMap(pid, "uid_map", spec.Plan.UIDMap), writeMap(pid, "gid_map", spec.Plan.GIDMap))
		if err != nil {
			return nil, err
		}
	}
	// Each in its place; there is none of those that stand in for what isn't there.
	fds := make([]int, len(files))
	for i, f := range files {
		if f == nil {
			f = spec.Exec
		}
		fds[i] = int(f.Fd())
	}
	if _, _, err = a.reports.WriteMsgUnix([]byte("run"), unix.UnixRights(fds...), nil); err != nil {
		return nil, err
	}
	runtime.KeepAlive(spec)
	return s, nil
}

// join says by which means it holds the run after all, and makes the run's cgroup if it is by
// one.
func (a *Ahead) join(spec *Spec) (files cgroupFiles, err error) {
	if a.full || namespaces[a.by] != 0 {
		return files, nil
	}
	for _, isolation := range a.means(spec.Isolation) {
		if namespaces[isolation] != 0 {
			break
		}
		if files, err = a.program.heldBy(spec, isolation); err == nil {
			return files, nil
		}
	}
	return files, errors.Join(errNotAhead, err)
}

// stepAhead is the step of all that is done before the run is there.
const stepAhead = "wait for the run"

// awaitRun waits for the run, and puts the descriptors that came into their places. One
// that didn't come ends the start: there may have been too many. It runs in the child.
//
//go:nosplit
//go:norace
func awaitRun(s *initState) {
	if s.uidMap.size > 0 { // as long as our /proc is ours
		writeMaps(s)
	}
	carryOut(s, s.wait[:1], stepWait)
	s.reportFD = slotReport // which is there now
	carryOut(s, s.wait[1:], stepWait)
	for i := range s.used {
		if s.fds[i] = s.rights.fds[i]; s.fds[i] < 0 {
			fail(s, stepDescriptors, syscall.EMFILE)
		}
	}
	if s.used == 0 { // nobody sent any
		fail(s, stepDescriptors, syscall.EPIPE)
	}
	s.fds[slotReport] = slotReport
	if !s.grouped {
		s.fds[slotCgroupProcs], s.fds[slotCgroupKill] = -1, -1
	}
	moveDescriptors(s)
}
