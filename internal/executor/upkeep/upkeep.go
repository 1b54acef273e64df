// Package upkeep keeps a state directory true for as long as somebody uses it:
// runs that nobody looks after are settled, what the policy doesn't keep is
// removed, and the journal is signed where that is asked for.
//
// # Limits
//
// It decides none of that: packages rundir, retain and signing do. It says when.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/executor/notes"
	"paddock/internal/executor/retain"
	"paddock/internal/rundir"
)

// every is how often runs without a supervisor are looked for.
const every = 5 * time.Second

// An Upkeep is that of one state directory in one process.
type Upkeep struct {
	State *rundir.State
	Notes *notes.Notes
	Sweep *retain.Sweeper
	Now   func() time.Time
	// Warn is told what goes wrong in the background.
	Warn func(error)

	turn   sync.Mutex
	passes atomic.Int64 // reconciliations begun
}

// Run does what there is to do whenever tick says so, until ctx ends. Nil ticks
// every five seconds.
func (u *Upkeep) Run(ctx context.Context, tick <-chan time.Time) {
	if tick == nil {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-tick:
			if err := errors.Join(u.Reconcile(ctx), u.Sweep.Turn(ctx)); err != nil && ctx.Err() == nil {
				u.Warn(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Reconcile settles runs that nobody looks after. Those who ask while one goes
// on share the next.
func (u *Upkeep) Reconcile(ctx context.Context) error {
	before := u.passes.Load()
	u.turn.Lock()
	defer u.turn.Unlock()
	if u.passes.Load() > before { // one has begun and ended since we asked
		return nil
	}
	u.passes.Add(1)
	_, err := u.State.Reconcile(ctx, u.Now)
	if err = errors.Join(err, u.Notes.Flush(ctx)); err != nil {
		return fmt.Errorf("reconciling: %w", err)
	}
	return nil
}
