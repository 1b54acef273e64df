// Package upkeep keeps a state directory true for as long as somebody uses it:
// runs that nobody looks after are settled, what the policy doesn't keep is
// removed, and the journal is signed where that is asked for.
//
// # Limits
//
// It decides none of that: it is given what does, and says when.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/rundir"
)

// every is how often runs without a supervisor are looked for.
const every = 5 * time.Second

// An Upkeep is that of one state directory in one process.
type Upkeep struct {
	State *rundir.State
	// Flush tells the journal what was only counted so far.
	Flush func(context.Context) error
	// Sweep removes or packs some of what the policy doesn't keep as it is. One
	// large output takes minutes to pack.
	Sweep func(context.Context) error
	// Sign signs the journal when it is time to. The first time it reads all of it.
	Sign func(context.Context) error
	// Resume starts or settles what waits for approval and has nobody who stays with it.
	Resume func(context.Context)
	Now    func() time.Time
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
	var work sync.WaitGroup
	defer work.Wait()
	due := []chan struct{}{u.beside(ctx, &work, u.Sign), u.beside(ctx, &work, u.Sweep)}
	for {
		select {
		case <-tick:
			for _, it := range due {
				select {
				case it <- struct{}{}:
				default: // still at it
				}
			}
			if err := u.Reconcile(ctx); err != nil && ctx.Err() == nil {
				u.Warn(err)
			}
			u.Resume(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// beside calls do whenever something is sent, until ctx ends, so that whatever
// takes its time keeps nobody from finding a run lost.
func (u *Upkeep) beside(ctx context.Context, work *sync.WaitGroup, do func(context.Context) error) chan struct{} {
	due := make(chan struct{}, 1)
	work.Go(func() {
		for {
			select {
			case <-due:
				if err := do(ctx); err != nil && ctx.Err() == nil {
					u.Warn(err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return due
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
	if err = errors.Join(err, u.Flush(ctx)); err != nil {
		return fmt.Errorf("reconciling: %w", err)
	}
	return nil
}
