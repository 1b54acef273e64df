// Package hint wakes those who wait for something that others may have changed. A hint
// says only that it is worth looking: who misses one looks at the next tick.
//
// # Limits
//
// It carries nothing.
package hint

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrOver is that the time to wait for something was over: no failure of what was asked
// meanwhile, which can come at that moment, too.
var ErrOver = errors.New("the time to wait was over")

// Over is what to say of the end of waiting: nothing, if only the time for it was over, or
// that ctx, of who asked, has ended.
func Over(ctx context.Context, err error) error {
	if errors.Is(err, ErrOver) {
		return ctx.Err()
	}
	return err
}

// A Bell is rung for everybody who waits. Its zero value is ready.
type Bell struct {
	mu      sync.Mutex
	changed chan struct{} // guarded by mu
	rings   uint64        // guarded by mu
}

// Rung is closed when the bell is rung the next time. It is to be taken before one looks.
func (b *Bell) Rung() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rings++
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// Rings is how often the bell was rung.
func (b *Bell) Rings() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rings
}

// Until calls look at once, after each ring and at each tick, until it says that it has
// seen what is waited for, or fails, or ctx ends (ErrOver).
func (b *Bell) Until(ctx context.Context, tick time.Duration, look func() (bool, error)) error {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		rung := b.Rung()
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-rung:
		case <-timer.C:
		case <-ctx.Done():
			return ErrOver
		}
	}
}
