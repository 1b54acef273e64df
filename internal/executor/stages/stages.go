// Package stages keeps supervisors at hand: it finds their binary, tells which
// one it is, and starts a few ahead of need, because starting one costs more
// than all the rest of a run.
//
// # Limits
//
// A supervisor that was taken is the taker's. The package doesn't talk to
// supervisors and doesn't end them. One that waits for its job
// ends by itself when its connection is closed, so also when this process ends.
// Binaries that an older release unpacked are left where they are.
package stages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/control"
	"paddock/internal/executor/stages/digests"
	"paddock/internal/spawn"
)

// A Stage is a supervisor that was started.
type Stage struct {
	*spawn.Stage
	once     sync.Once
	ended    chan struct{}
	patience time.Duration // for tests; zero is that of everybody
	pool     *Pool
}

// Give hands a job over. A stage that may have got it or not is ended: dead, it
// can't run it any more.
func (s *Stage) Give(text []byte, files []*os.File) error {
	err := control.SendJob(s.Conn(), text, files)
	if err == nil {
		return nil
	}
	killed := s.Kill()
	if errors.Is(killed, os.ErrProcessDone) {
		killed = nil
	}
	err = errors.Join(err, killed, s.Conn().Close())
	<-s.Reap()
	return err
}

// patience is how long a supervisor that got no word may take to undo what it made. One that
// is stopped never would.
const patience = 10 * time.Second

// Leave lets go of a supervisor that hasn't got the word: it ends by itself, or is ended
// when it doesn't. The channel is closed when it is gone.
func (s *Stage) Leave() <-chan struct{} {
	_ = s.Conn().Close() // nothing is lost that was sent
	gone := s.Reap()
	late := time.AfterFunc(cmp.Or(s.patience, patience), func() { _ = s.Kill() }) // it may be gone by then
	go func() {
		<-gone
		late.Stop()
	}()
	return gone
}

// Reap waits for the supervisor's end, in the background, so that it leaves no
// zombie. Whoever takes a Stage calls it once its connection has ended: to wait
// for it all its life would hold a thread per run. The channel is closed when
// the supervisor is gone.
func (s *Stage) Reap() <-chan struct{} {
	s.once.Do(func() {
		go func() {
			_ = s.Wait() // how it ended is read from the run's directory
			close(s.ended)
			s.pool.gone(s)
		}()
	})
	return s.ended
}

// A Pool starts supervisors. Its methods may be called concurrently.
type Pool struct {
	path   string
	warm   int
	warn   func(error)
	known  paddock.Digest // of the one inside this program; else empty
	digest *digests.Memory
	cgroup atomic.Pointer[string] // see away
	ready  atomic.Pointer[string] // see Resemble; nil is what most runs can use

	mu      sync.Mutex // guards all below
	idle    []*Stage
	early   *early
	later   *time.Timer // to refill; nil when none is set
	awaited *Stage      // refilled is when it has ended, or later
	after   func(time.Duration, func()) *time.Timer
	filling bool
	closed  bool
	fillers sync.WaitGroup
}

// Open finds the supervisor's binary, at path if that isn't empty, and returns a pool of
// it.
func Open(ctx context.Context, path, dir string, warm int, warn func(error)) (*Pool, error) {
	binary, err := Find(path)
	if err != nil {
		return nil, err
	}
	return NewPool(ctx, binary, dir, warm, warn)
}

// NewPool makes a pool of the binary b that keeps warm supervisors idle,
// starting now. In the directory dir, which is ours, the one inside this program
// is unpacked (stage/DIGEST/paddock-stage) and the digest of any other is
// remembered for other processes (stage.json). What goes wrong in the background
// is told to warn.
func NewPool(ctx context.Context, b Binary, dir string, warm int, warn func(error)) (*Pool, error) {
	path, err := b.Place(ctx, filepath.Join(dir, "stage"))
	if err != nil {
		return nil, err
	}
	p := &Pool{path: path, warm: warm, warn: warn, known: b.Digest, after: time.AfterFunc}
	p.digest = digests.Of(path, filepath.Join(dir, "stage.json"))
	p.fill()
	return p, nil
}

// early is a supervisor that is coming up for a run that is about to be.
type early struct {
	leave bool
	ready chan struct{} // closed when the others are set
	stage *Stage
	err   error
}

// Resemble says that runs to come are likely to be held as this one is, so that
// supervisors which wait make ready what those can use, and nothing else.
func (p *Pool) Resemble(held paddock.ContainAs) {
	ready := "ground"
	switch {
	case held.Level == paddock.Standard:
		ready = "hedge"
	case held.Level != paddock.Full:
		ready = "between"
	case held.Network == "host":
		ready = ""
	case !contain.Grounds(held):
		ready = "ahead"
	}
	p.ready.Store(&ready)
}

// An Expectation is of the run that an Executor is opened for.
type Expectation int

// What may be expected: a run that ends with this process, or one that doesn't.
const (
	ExpectNone Expectation = iota
	ExpectTied
	ExpectFree
)

// Expect says that a supervisor will be taken soon. Where none is kept idle, one
// is started meanwhile, for what comes before takes about as long.
func (p *Pool) Expect(leave bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.warm > 0 || p.early != nil {
		return
	}
	e := &early{leave: leave, ready: make(chan struct{})}
	p.early = e
	p.fillers.Go(func() {
		defer close(e.ready)
		e.stage, e.err = p.start(leave)
	})
}

// expected returns the supervisor that was expected, nil if there is none, or it
// was for another kind of run.
func (p *Pool) expected(leave bool) (*Stage, error) {
	p.mu.Lock()
	e := p.early
	if e == nil || e.leave != leave {
		p.mu.Unlock()
		return nil, nil
	}
	p.early = nil
	p.mu.Unlock()
	<-e.ready
	return e.stage, e.err
}

// Rouse has the supervisor that Take would return wake up: a request is there, and while it
// is judged that one can be ready to read its job. If none comes it waits on.
func (p *Pool) Rouse() {
	p.mu.Lock() // or it may be taken, and have its job, in between
	defer p.mu.Unlock()
	if len(p.idle) > 0 {
		control.Rouse(p.idle[0].Conn())
	}
}

// Take returns a supervisor that waits for its job: one that was expected, an
// idle one, or a new one, outside of our cgroup if it is to leave that.
func (p *Pool) Take(leave bool) (taken *Stage, err error) {
	if s, err := p.expected(leave); s != nil || err != nil {
		return s, err
	}
	defer func() { p.refillSoon(taken) }()
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, errors.New("closed")
		}
		if len(p.idle) == 0 {
			p.mu.Unlock()
			return p.start(leave)
		}
		s := p.idle[0]
		p.idle = p.idle[1:]
		p.mu.Unlock()
		if !s.silent() {
			return s, nil
		}
		s.Leave() // somebody ended it while it waited
	}
}

func (p *Pool) start(leave bool) (*Stage, error) {
	var cgroup *os.File
	if leave {
		if cgroup = p.away(); cgroup != nil {
			defer cgroup.Close()
		}
	}
	ready := "ground"
	if known := p.ready.Load(); known != nil {
		ready = *known
	}
	started, err := spawn.StartStage(p.path, cgroup, ready)
	if err != nil {
		return nil, err
	}
	return &Stage{Stage: started, ended: make(chan struct{}), pool: p}, nil
}

// away opens the cgroup that supervisors leave to; nil where there is none, and
// then the supervisor says why in the run's record. Where it was is remembered: to
// find it takes longer than to start a process.
func (p *Pool) away() *os.File {
	if known := p.cgroup.Load(); known != nil {
		if f, err := os.Open(*known); err == nil {
			return f
		}
	}
	f, err := lifecycle.Supervisors()
	if err != nil {
		return nil
	}
	name := f.Name()
	p.cgroup.Store(&name)
	return f
}

// A refill waits for the run that made it necessary, at least for lull and at most for longest:
// on a machine with few processors the two would hold each other up.
const (
	lull    = 20 * time.Millisecond
	longest = time.Second
)

// refillSoon refills when the run of taken is over, or now if there is nothing left to take.
func (p *Pool) refillSoon(taken *Stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.idle) == 0 || taken == nil:
		p.dontWait()
	case p.later == nil && !p.closed:
		p.later = p.after(lull, func() { p.await(taken) })
	}
}

// await goes on waiting for the end of taken, if that is still to come.
func (p *Pool) await(taken *Stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-taken.ended:
		p.dontWait()
	default:
		if !p.closed && p.later != nil { // or it was refilled meanwhile
			p.awaited, p.later = taken, p.after(longest-lull, func() { p.gone(taken) })
		}
	}
}

// gone refills if that waited for s.
func (p *Pool) gone(s *Stage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited == s {
		p.dontWait()
	}
}

// dontWait refills now. The caller holds p.mu.
func (p *Pool) dontWait() {
	if p.later != nil {
		p.later.Stop() // and should it have begun, it finds nothing to do
	}
	p.later, p.awaited = nil, nil
	p.fill()
}

// fill brings the idle ones up to their number, in the background. The caller holds p.mu.
func (p *Pool) fill() {
	if p.closed || p.filling || len(p.idle) >= p.warm {
		return
	}
	p.filling = true
	p.fillers.Go(func() {
		for p.addIdle() {
		}
	})
}

// addIdle starts one more and reports whether another is wanted.
func (p *Pool) addIdle() bool {
	s, err := p.start(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.filling = false
		p.warn(fmt.Errorf("starting a supervisor ahead of need: %w", err))
		return false
	}
	if p.closed {
		p.filling = false
		s.Leave()
		return false
	}
	p.idle = append(p.idle, s)
	if len(p.idle) >= p.warm {
		p.filling = false
		return false
	}
	return true
}

// Close lets the idle supervisors end and waits until they did. Those that
// were taken go on.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.later != nil {
		p.later.Stop() // and should it have begun, it finds the pool closed
	}
	p.mu.Unlock()
	p.fillers.Wait()
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	if p.early != nil && p.early.stage != nil {
		// Nobody asked for a run after all, or it was refused, and who asked shouldn't
		// wait until it has come up to see that. It has got no job.
		_ = p.early.stage.Kill()
		idle = append(idle, p.early.stage)
		p.early = nil
	}
	p.mu.Unlock()
	var ending []<-chan struct{}
	for _, s := range idle {
		ending = append(ending, s.Leave())
	}
	for _, gone := range ending {
		<-gone
	}
}

// Digest returns the digest of the supervisor's binary, read again when the
// file has changed.
func (p *Pool) Digest(ctx context.Context) (paddock.Digest, error) {
	if p.known != "" {
		return p.known, nil
	}
	return p.digest.Get(ctx)
}
