// Package shift is a worker at work: it renews its leases, takes new runs and tells what
// became of them, at each beat and whenever it hears that there is something to do.
//
// # Limits
//
// What is done stands in package lease, by which hands in package hands. That hints come
// is left to others: without any, everything happens at the next beat.
package shift

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"paddock/internal/dispatch/machine/shift/hint"
	"paddock/internal/lease"
	"paddock/internal/store"
)

// rest is how long a worker waits after a failure before it asks the store again.
const rest = time.Second

// forgetEvery is how often old nonces are removed.
const forgetEvery = time.Hour

// A Shift is a worker's process.
type Shift struct {
	lease.Config
	// Queued is rung when something may be there to be taken, Changed when a run has
	// come further or somebody asks for its end.
	Queued, Changed *hint.Bell
	// Told is rung after everything that was done.
	Told *hint.Bell
	// Looked is rung when the queue was looked at.
	Looked *hint.Bell
	// Own, if there is one, is told which worker this is now.
	Own *Own
	// Warn is told what goes wrong and will be tried again.
	Warn func(error)
	// Tick gives the beats; nil means a time.Ticker.
	Tick <-chan time.Time
}

// An Own is the worker of the process that queues, while there is one: it can take what is
// queued in the same transaction. Its zero value is ready, and nil has none.
type Own struct{ worker atomic.Pointer[lease.Worker] }

// Offer is [lease.Worker.Offer].
func (o *Own) Offer(ctx context.Context, r store.Run, nonce string) (kept store.Run, again, taken, ok bool, err error) {
	if w := o.worker.Load(); w != nil {
		return w.Offer(ctx, r, nonce)
	}
	return store.Run{}, false, false, false, nil
}

func (o *Own) is(w *lease.Worker) (over func()) {
	if o == nil {
		return func() {}
	}
	o.worker.Store(w)
	return func() { o.worker.Store(nil) }
}

// Work returns when ctx ends, when the worker has been drained (nil), or when it is
// given up: [store.ErrFenced] says that another process is this worker now. Runs go on.
func (s *Shift) Work(ctx context.Context) error {
	tick := s.Tick
	if tick == nil {
		t := time.NewTicker(s.Times.Beat)
		defer t.Stop()
		tick = t.C
	}
	var said string // of the same trouble once
	var forgot time.Time
	for {
		err := s.begun(ctx, tick, &forgot, func(err error) {
			if err == nil || err.Error() != said {
				if said = ""; err != nil {
					said = err.Error()
					s.Warn(err)
				}
			}
		})
		if err == nil || ctx.Err() != nil || final(err) {
			return err
		}
		if err.Error() != said {
			said = err.Error()
			s.Warn(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rest):
		}
	}
}

// final reports whether to try again is of no use.
func final(err error) bool {
	return errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrInvalid)
}

// begun begins an epoch and works in it.
func (s *Shift) begun(ctx context.Context, tick <-chan time.Time, forgot *time.Time, trouble func(error)) error {
	changed, queued := s.Changed.Rung(), s.Queued.Rung()
	w, err := lease.Begin(ctx, s.Config)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no worker %s; an admin adds it (POST /api/v1/workers) and says its id: %w", s.ID, err)
	}
	if err != nil {
		return err
	}
	defer w.Close()
	defer s.Own.is(w)()
	next := beat
	for {
		mode, held := store.Open, 1
		switch next {
		case beat:
			mode, held, err = w.Step(ctx)
		case look:
			err = w.Look(ctx)
		case take:
			_, err = w.Take(ctx)
		}
		if ctx.Err() != nil || final(err) {
			return err
		}
		trouble(err)
		s.Looked.Ring()
		s.Told.Ring()
		if err == nil && mode == store.Draining && held == 0 {
			return nil
		}
		if now := s.Clock(); now.Sub(*forgot) >= forgetEvery {
			*forgot = now
			trouble(s.Nonces.Forget(now))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
			next = beat
		case <-changed:
			next, changed = look, s.Changed.Rung()
		case <-queued:
			next, queued = take, s.Queued.Rung()
		}
	}
}

// What a worker does next.
const (
	beat = iota // renew the leases, and the rest
	look        // tell what has become of runs, and take new ones
	take        // take new ones
)
