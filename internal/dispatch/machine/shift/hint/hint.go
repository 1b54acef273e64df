// Package hint wakes those who wait for something that others may have changed. A hint
// says only that it is worth looking: who misses one looks at the next tick.
//
// # Limits
//
// It carries nothing.
package hint

import "sync"

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
