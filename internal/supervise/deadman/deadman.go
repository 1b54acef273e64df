// Package deadman tells when the lease of a run is over: nobody has said for too long
// that the run may go on, so perhaps it was given up for lost elsewhere.
//
// Times are of the machine's boot clock, which is one for all processes, goes on while
// the machine sleeps and can't be set. So what a worker says is right however late it is
// heard.
//
// # Limits
//
// It ends nothing. A run that nobody leased has no such time.
package deadman

import (
	"sync/atomic"
	"time"

	"paddock"
	clock "paddock/internal/control/boot"
)

// lookEvery is how long one wait is at most: timers don't go on while the machine
// sleeps, and the boot clock does.
const lookEvery = 5 * time.Second

// A Watch knows until when a run may go on. Renew may be called concurrently with
// everything else. The zero Watch is of a run that nobody leased.
type Watch struct {
	After func(time.Duration) <-chan time.Time
	Boot  func() time.Duration // the clock

	until atomic.Int64
}

// New returns the Watch of a run that may go on until that time; zero means that nobody
// leased it. Nil for boot means the machine's clock.
func New(until int64, after func(time.Duration) <-chan time.Time, boot func() time.Duration) *Watch {
	if boot == nil {
		boot = clock.Clock
	}
	w := &Watch{After: after, Boot: boot}
	w.until.Store(until)
	return w
}

// Renew lets the run go on until a later time. An earlier one changes nothing, and none
// makes a run a leased one.
func (w *Watch) Renew(until time.Duration) {
	for {
		was := w.until.Load()
		if was == 0 || int64(until) <= was || w.until.CompareAndSwap(was, int64(until)) {
			return
		}
	}
}

// Look receives when it is time to look again, or nothing when the lease is over. Nil
// and false mean that there is none.
func (w *Watch) Look() (next <-chan time.Time, over bool) {
	until := w.until.Load()
	if until == 0 {
		return nil, false
	}
	left := time.Duration(until) - w.Boot()
	if left <= 0 {
		return nil, true
	}
	return w.After(min(left, lookEvery)), false
}

// Reason is why the end of a lease ends the run.
func Reason() paddock.Reason {
	return paddock.Reason{Kind: paddock.ReasonLease, Detail: "the worker that has the run said for too long not that it may go on"}
}
