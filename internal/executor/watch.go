package executor

import (
	"context"
	"sync"
	"time"

	"paddock"
	"paddock/internal/control"
	"paddock/internal/executor/stages"
	"paddock/internal/rundir"
)

// A watch listens to one run's supervisor for everybody in this process who
// waits for the run. It tells them to look, never what they will see.
type watch struct {
	dir  *rundir.Dir
	stop context.CancelFunc

	refs int // who waits; guarded by Executor.mu

	mu      sync.Mutex // guards all below
	changed chan struct{}
	client  *control.Client // nil while the supervisor can't be heard
	begun   bool            // the program was said to have started
	deaf    bool            // the supervisor couldn't be heard when we last tried
}

// now returns how things stand, and a channel that is closed when they change.
func (w *watch) now() (changed <-chan struct{}, begun, deaf bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed, w.begun, w.deaf
}

// speaker is the connection to the supervisor; nil when there is none now.
func (w *watch) speaker() *control.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client
}

// set changes how things stand and wakes everybody who waits.
func (w *watch) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

// adopt watches a run that was just handed over, by the connection it was
// handed over on, for as long as the run or the Executor lives.
func (e *Executor) adopt(dir *rundir.Dir, stage *stages.Stage) {
	client := control.NewClient(stage.Conn())
	life, stop := context.WithCancel(e.life)
	w := &watch{dir: dir, stop: stop, refs: 1, changed: make(chan struct{}), client: client}
	e.mu.Lock()
	e.watches[dir.ID()] = w
	e.mu.Unlock()
	ours := e.goWhileOpen(func() {
		w.hear(life, client)
		e.release(w)
		w.listen(life) // for those who still wait, if any
	})
	if !ours { // closed meanwhile: as Close does to all others
		_ = client.Close()
		e.release(w)
	}
}

// acquire returns the watch of a run. The caller releases it.
func (e *Executor) acquire(dir *rundir.Dir) (*watch, error) {
	e.mu.Lock()
	if w := e.watches[dir.ID()]; w != nil {
		w.refs++
		e.mu.Unlock()
		return w, nil
	}
	life, stop := context.WithCancel(e.life)
	w := &watch{dir: dir, stop: stop, refs: 1, changed: make(chan struct{})}
	e.watches[dir.ID()] = w
	e.mu.Unlock()
	if !e.goWhileOpen(func() { w.listen(life) }) {
		e.release(w)
		return nil, ErrClosed
	}
	return w, nil
}

func (e *Executor) release(w *watch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w.refs--; w.refs == 0 {
		w.stop()
		if e.watches[w.dir.ID()] == w {
			delete(e.watches, w.dir.ID())
		}
	}
}

// listen hears the supervisor by its socket, and tries again for as long as
// somebody waits: it may not have made the socket yet, or be gone.
func (w *watch) listen(ctx context.Context) {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-retry.C:
		}
		if client, err := w.dial(ctx); err == nil {
			w.hear(ctx, client)
		}
		w.set(func() { w.deaf = true })
		retry.Reset(pollEvery)
	}
}

func (w *watch) dial(ctx context.Context) (*control.Client, error) {
	token, err := w.dir.Token()
	if err != nil {
		return nil, err
	}
	return control.Dial(ctx, w.dir.Path(), token)
}

// hear passes on that something has happened until the supervisor falls silent.
func (w *watch) hear(ctx context.Context, client *control.Client) {
	defer client.Close() //nolint:errcheck // a connection that ended needs no goodbye
	events, err := client.Subscribe(ctx)
	if err == nil {
		w.set(func() { w.client, w.deaf = client, false })
		for event := range events {
			w.set(func() { w.begun = w.begun || event.Kind == control.EventStarted })
		}
	}
	w.set(func() { w.client, w.deaf = nil, true })
}

// await returns when ready says so or fails, or ctx ends. ready is called at
// once and whenever something may have changed.
func (e *Executor) await(ctx context.Context, dir *rundir.Dir, ready func(*watch) (bool, error)) error {
	w, err := e.acquire(dir)
	if err != nil {
		return err
	}
	defer e.release(w)
	for {
		changed, _, deaf := w.now()
		if ok, err := ready(w); ok || err != nil {
			return err
		}
		if deaf {
			if err := e.seek(ctx, dir); err != nil {
				return err
			}
			if ok, err := ready(w); ok || err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-e.life.Done():
			return ErrClosed
		}
	}
}

// seek looks for a run whose supervisor can't be heard: whether it still exists
// and whether anybody looks after it. If nobody does, it is settled as lost.
func (e *Executor) seek(ctx context.Context, dir *rundir.Dir) error {
	if _, err := e.state.Run(dir.ID()); err != nil {
		return err
	}
	if err := e.reconcile(ctx); err != nil && ctx.Err() == nil && e.life.Err() == nil {
		e.cfg.Warn(err) // perhaps of another run; ours is asked for again
	}
	return nil
}

// begun returns the run once its program has started or it is settled. When ctx
// ends before, the run is ended as aborted.
func (e *Executor) begun(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	dir, err := e.state.Run(id)
	if err != nil {
		return paddock.Run{}, err
	}
	err = e.await(ctx, dir, func(w *watch) (bool, error) {
		if _, begun, _ := w.now(); begun {
			return true, nil
		}
		run, err := dir.Record(e.cfg.Now())
		return run.State != paddock.Starting, err
	})
	if err != nil {
		return paddock.Run{}, err
	}
	return dir.Record(e.cfg.Now())
}
