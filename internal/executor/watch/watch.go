// Package watch waits for runs. It listens to the supervisors of those runs for
// which somebody in this process waits, once per run however many wait, and
// tells them to look; what they see they read from the run's directory.
//
// # Limits
//
// A supervisor's word is only a hint. A run whose supervisor can't be heard is
// looked after ten times a second, by a function of the [Hub]'s maker.
package watch

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"paddock"
	"paddock/internal/control"
	"paddock/internal/rundir"
)

// pollEvery is how often a run whose supervisor can't be heard is looked at.
const pollEvery = 100 * time.Millisecond

// ErrClosed is the error of waiting on a closed Hub.
var ErrClosed = errors.New("the executor is closed")

// A Hub waits for runs. Its methods may be called concurrently.
type Hub struct {
	seek func(context.Context, *rundir.Dir) error
	life context.Context // until Close
	end  context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	runs   map[paddock.RunID]*Run // guarded by mu
	closed bool                   // guarded by mu
}

// New returns a Hub. Where a run's supervisor can't be heard, seek is asked to
// settle it if nobody looks after it; its error ends the waiting. The Hub keeps
// ctx's values, not its end.
func New(ctx context.Context, seek func(context.Context, *rundir.Dir) error) *Hub {
	h := &Hub{seek: seek, runs: map[paddock.RunID]*Run{}}
	h.life, h.end = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

// Close ends all waiting and closes every connection.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.work.Wait()
}

// A Run is one run that somebody waits for.
type Run struct {
	dir     *rundir.Dir
	stop    context.CancelFunc
	destroy func() error // ends the supervisor at once; nil where we didn't start it
	refs    int          // who waits; guarded by Hub.mu

	mu      sync.Mutex // guards all below
	changed chan struct{}
	client  *control.Client // nil while the supervisor can't be heard
	begun   bool            // the program was said to have started
	over    bool            // the run was said to be settled
	deaf    bool            // the supervisor couldn't be heard when we last tried
}

// Client is the connection to the supervisor; nil when there is none now.
func (r *Run) Client() *control.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client
}

// quiet reports whether the supervisor is heard and has said neither that the program has
// started nor that the run is settled: it says so when it is, so nobody needs to look.
func (r *Run) quiet() (neither, unsettled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client != nil && !r.begun && !r.over, r.client != nil && !r.over
}

// Begun reports whether the program was said to have started.
func (r *Run) Begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

func (r *Run) now() (changed <-chan struct{}, deaf bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed, r.deaf
}

// set changes how things stand and wakes everybody who waits.
func (r *Run) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.changed)
	r.changed = make(chan struct{})
}

// Adopt listens to a run that was just handed over, by the connection it was
// handed over on, which is the Hub's from then on. It does so for as long as
// the run or the Hub lives, whether anybody waits or not: a tied run ends when
// that connection does. When it has ended, done is called. Destroy ends its supervisor at once,
// for when that doesn't answer.
func (h *Hub) Adopt(dir *rundir.Dir, conn net.Conn, destroy func() error, done func()) {
	h.mu.Lock()
	r, life := h.put(dir, destroy)
	h.mu.Unlock()
	client := control.NewFollower(conn, r.heardOurs)
	ours := h.goWhileOpen(func() {
		r.follow(life, client)
		done()
		h.release(r)
		r.listen(life) // for those who still wait, if any
	})
	if !ours { // closed meanwhile: as Close does to all others
		_ = client.Close()
		done()
		h.release(r)
	}
}

// Known is the directory of a run that somebody waits for, or of one that was handed over
// here and goes on; nil for others.
func (h *Hub) Known(id paddock.RunID) *rundir.Dir {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[id]; r != nil {
		return r.dir
	}
	return nil
}

// put makes a new Run with one reference. The caller holds h.mu.
func (h *Hub) put(dir *rundir.Dir, destroy func() error) (*Run, context.Context) {
	life, stop := context.WithCancel(h.life)
	r := &Run{dir: dir, stop: stop, destroy: destroy, refs: 1, changed: make(chan struct{})}
	h.runs[dir.ID()] = r
	return r, life
}

// acquire returns the Run of dir. The caller releases it.
func (h *Hub) acquire(dir *rundir.Dir) (*Run, error) {
	h.mu.Lock()
	if r := h.runs[dir.ID()]; r != nil {
		r.refs++
		h.mu.Unlock()
		return r, nil
	}
	r, life := h.put(dir, nil)
	h.mu.Unlock()
	if !h.goWhileOpen(func() { r.listen(life) }) {
		h.release(r)
		return nil, ErrClosed
	}
	return r, nil
}

func (h *Hub) release(r *Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.refs--; r.refs > 0 {
		return
	}
	r.stop()
	if h.runs[r.dir.ID()] == r {
		delete(h.runs, r.dir.ID())
	}
}

// goWhileOpen starts f, which ends with the Hub's life, unless that is over.
func (h *Hub) goWhileOpen(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Go(f)
	return true
}

// listen hears the supervisor by its socket, and tries again for as long as
// somebody waits: it may not have made the socket yet, or be gone.
func (r *Run) listen(ctx context.Context) {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-retry.C:
		}
		if client, err := r.dial(ctx); err == nil {
			r.hear(ctx, client)
		}
		r.set(func() { r.deaf = true })
		retry.Reset(pollEvery)
	}
}

func (r *Run) dial(ctx context.Context) (*control.Client, error) {
	token, err := r.dir.Token()
	if err != nil {
		return nil, err
	}
	return control.Dial(ctx, r.dir.Path(), token)
}

// hear passes on that something has happened until the supervisor falls silent.
func (r *Run) hear(ctx context.Context, client *control.Client) {
	_ = client.Follow(ctx, func() { r.listens(client) }, r.heard) // that it can't be heard is all there is to know
	r.silent(client)
}

// follow is hear of a supervisor that we started, and which tells us without being asked.
func (r *Run) follow(ctx context.Context, client *control.Client) {
	r.listens(client)
	select {
	case <-ctx.Done():
	case <-client.Done():
	}
	r.silent(client)
}

func (r *Run) listens(client *control.Client) {
	r.set(func() { r.client, r.deaf = client, false })
}

func (r *Run) silent(client *control.Client) {
	r.set(func() { r.client, r.deaf = nil, true })
	_ = client.Close() // a connection that ended needs no goodbye
}

func (r *Run) heard(event control.Event) {
	r.set(func() {
		r.begun = r.begun || event.Kind == control.EventStarted
		r.over = r.over || event.Kind == control.EventSettled
	})
}

// heardOurs is heard of a supervisor that we started: it is believed when it says what it has
// written down, since no other process has its end of the connection.
func (r *Run) heardOurs(event control.Event) {
	if event.Kind == control.EventSettled && event.Kept && event.Outcome != nil {
		r.dir.Tell(*event.Outcome)
	}
	r.heard(event)
}

// Await returns when ready says so or fails, or ctx ends. ready is called at
// once and whenever something may have changed.
func (h *Hub) Await(ctx context.Context, dir *rundir.Dir, ready func(*Run) (bool, error)) error {
	r, err := h.acquire(dir)
	if err != nil {
		return err
	}
	defer h.release(r)
	for {
		changed, deaf := r.now()
		if ok, err := ready(r); ok || err != nil {
			return err
		}
		if deaf {
			if err := h.seek(ctx, dir); err != nil {
				return err
			}
			if ok, err := ready(r); ok || err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-h.life.Done():
			return ErrClosed
		}
	}
}
