// Package pace bounds how often somebody may ask, and how many things he may hold at
// once.
//
// # Limits
//
// It knows only names. What isn't asked for a while is forgotten, as if it had never
// asked; there are at most [most] names at a time.
package pace

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	most   = 10_000
	forget = 10 * time.Minute
)

// A Limiter gives each name so many a second, with a burst. The zero Limiter gives
// nobody anything.
type Limiter struct {
	each  rate.Limit
	burst int
	now   func() time.Time

	mu    sync.Mutex
	names map[string]*entry // guarded by mu
}

type entry struct {
	limiter *rate.Limiter
	seen    time.Time
}

// New returns a Limiter.
func New(perSecond float64, burst int, now func() time.Time) *Limiter {
	return &Limiter{each: rate.Limit(perSecond), burst: burst, now: now, names: map[string]*entry{}}
}

// Allow reports whether a name may go on, and if not, after how long it may.
func (l *Limiter) Allow(name string) (bool, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil {
		return false, time.Second
	}
	now := l.now()
	e := l.names[name]
	if e == nil {
		if len(l.names) >= most {
			l.sweep(now)
		}
		if len(l.names) >= most {
			return false, time.Second
		}
		e = &entry{limiter: rate.NewLimiter(l.each, l.burst)}
		l.names[name] = e
	}
	e.seen = now
	if e.limiter.AllowN(now, 1) {
		return true, 0
	}
	missing := 1 - e.limiter.TokensAt(now)
	return false, time.Duration(missing / float64(l.each) * float64(time.Second))
}

// sweep forgets who hasn't asked for a while. The caller holds mu.
func (l *Limiter) sweep(now time.Time) {
	for name, e := range l.names {
		if now.Sub(e.seen) > forget {
			delete(l.names, name)
		}
	}
}

// A Count bounds how many things are held at once, for each name and in all. The zero
// Count lets nobody hold anything.
type Count struct {
	Each, All int

	mu    sync.Mutex
	names map[string]int // guarded by mu
	all   int            // guarded by mu
}

// Take holds one more for a name, if there is room; release gives it back.
func (c *Count) Take(name string) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.All || c.names[name] >= c.Each {
		return nil, false
	}
	if c.names == nil {
		c.names = map[string]int{}
	}
	c.all++
	c.names[name]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all--
		if c.names[name]--; c.names[name] == 0 {
			delete(c.names, name)
		}
	}), true
}

// Held is how many are held in all.
func (c *Count) Held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
