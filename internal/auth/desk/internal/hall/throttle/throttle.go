// Package throttle says when somebody has tried too often: a rate per key with a
// burst, in a memory that doesn't grow.
//
// Each key has a place in two tables, found by seeds that nobody knows. A place holds
// one time: when it will have recovered from all that was tried there. A key is made
// to wait only if both of its places say so, so that keys that share one place with a
// busy one aren't hindered, and nobody can choose whom to hinder.
//
// # Limits
//
// It forgets everything when the process ends, and each server counts for itself. The
// clock is the caller's. What a key stands for, and that unknown names are counted like
// known ones, is the caller's to say.
package throttle

import (
	"hash/maphash"
	"sync"
	"time"
)

// places is how many keys have a place of their own, about.
const places = 1 << 14

// A Table counts tries by key.
type Table struct {
	every, burst time.Duration

	mu    sync.Mutex
	seeds [2]maphash.Seed
	full  [2][places]int64 // when the place will have recovered, in Unix nanoseconds
}

// New returns a Table that lets each key try burst times at once and then once per
// every. Both must be positive.
func New(every time.Duration, burst int) *Table {
	if every <= 0 || burst <= 0 {
		panic("throttle: bug: a rate that isn't positive")
	}
	return &Table{every: every, burst: every * time.Duration(burst), seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// Take counts a try of the key, or returns how long it has to wait for one. A try
// that has to wait isn't counted.
func (t *Table) Take(now time.Time, key string) (wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, n := t.at(key), now.UnixNano()
	least := min(*at[0], *at[1])
	if wait := time.Duration(least-n) + t.every - t.burst; wait > 0 {
		return wait, false
	}
	for _, place := range at {
		*place = max(*place, n) + int64(t.every)
	}
	return 0, true
}

// Forgive takes one try of the key back: it was a good one.
func (t *Table) Forgive(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, place := range t.at(key) {
		*place -= int64(t.every)
	}
}

func (t *Table) at(key string) [2]*int64 {
	return [2]*int64{
		&t.full[0][maphash.String(t.seeds[0], key)%places],
		&t.full[1][maphash.String(t.seeds[1], key)%places],
	}
}
