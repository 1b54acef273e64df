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
	"paddock/internal/spawn"
)

// A Stage is a supervisor that was started.
type Stage struct {
	*spawn.Stage
	once  sync.Once
	ended chan struct{}
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

// Reap waits for the supervisor's end, in the background, so that it leaves no
// zombie. Whoever takes a Stage calls it once its connection has ended: to wait
// for it all its life would hold a thread per run. The channel is closed when
// the supervisor is gone.
func (s *Stage) Reap() <-chan struct{} {
	s.once.Do(func() {
		go func() {
			defer close(s.ended)
			_ = s.Wait() // how it ended is read from the run's directory
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
	digest *digests
	cgroup atomic.Pointer[string] // see away
	ready  atomic.Pointer[string] // see Resemble; nil is what most runs can use

	mu      sync.Mutex // guards all below
	idle    []*Stage
	early   *early
	later   *time.Timer // to refill; nil when none is set
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
	p := &Pool{path: path, warm: warm, warn: warn, known: b.Digest}
	p.digest = &digests{path: path, memory: filepath.Join(dir, "stage.json")}
	p.refill()
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
	case held.Level != paddock.Full || held.Network == "host":
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

// Take returns a supervisor that waits for its job: one that was expected, an
// idle one, or a new one, outside of our cgroup if it is to leave that.
func (p *Pool) Take(leave bool) (*Stage, error) {
	if s, err := p.expected(leave); s != nil || err != nil {
		return s, err
	}
	defer p.refillSoon()
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
		_ = s.Conn().Close() // somebody ended it while it waited
		s.Reap()
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
	return &Stage{Stage: started, ended: make(chan struct{})}, nil
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

// lull is how long a refill waits for the run that made it necessary: on a machine
// with few processors the two would hold each other up.
const lull = 20 * time.Millisecond

// refillSoon refills in a while, or now if there is nothing left to take.
func (p *Pool) refillSoon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed || p.later != nil:
	case len(p.idle) == 0:
		p.fill()
	default:
		p.later = time.AfterFunc(lull, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.later = nil
			p.fill()
		})
	}
}

// refill brings the idle ones up to their number, in the background.
func (p *Pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fill()
}

// fill is refill for who holds p.mu.
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
		_ = s.Conn().Close()
		s.Reap()
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
	for _, s := range idle {
		_ = s.Conn().Close() // nothing was sent on it
	}
	for _, s := range idle {
		<-s.Reap()
	}
}

// Digest returns the digest of the supervisor's binary, read again when the
// file has changed.
func (p *Pool) Digest(ctx context.Context) (paddock.Digest, error) {
	if p.known != "" {
		return p.known, nil
	}
	return p.digest.get(ctx)
}
