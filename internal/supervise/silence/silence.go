// Package silence tells when a program has printed nothing for too long.
//
// # Limits
//
// Output that was printed and not yet read from the pipe isn't seen here. What
// the program does meanwhile isn't looked at: one that computes in silence is
// ended like one that hangs.
package silence

import (
	"sync/atomic"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/artifact/prompt"
)

// A Watch knows when a program printed last. Most zero means that any silence
// will do. Printed may be called concurrently with everything else.
type Watch struct {
	Most  time.Duration
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time

	last atomic.Int64 // nanoseconds; zero before anything was printed
}

// Printed notes that there was output.
func (w *Watch) Printed() { w.last.Store(w.Now().UnixNano()) }

// Begin notes the start of the program, from which silence counts.
func (w *Watch) Begin() <-chan time.Time {
	if w.Most == 0 {
		return nil
	}
	w.last.CompareAndSwap(0, w.Now().UnixNano())
	return w.After(max(w.left(), time.Millisecond))
}

// Look receives when it is time to look again, or nothing when the silence has
// lasted too long. What is printed meanwhile is found by looking, so that
// printing costs no timer.
func (w *Watch) Look() (next <-chan time.Time, over bool) {
	left := w.left()
	if left <= 0 {
		return nil, true
	}
	return w.After(max(left, time.Millisecond)), false
}

// left is how much longer the program may print nothing.
func (w *Watch) left() time.Duration {
	return w.Most - w.Now().Sub(time.Unix(0, w.last.Load()))
}

// Reason is why silence ends the run in dir. A program that asks a question and
// waits for an answer looks just like one that hangs, so that is said.
func (w *Watch) Reason(dir string) paddock.Reason {
	reason := paddock.Reason{Kind: paddock.ReasonIdle, Limit: w.Most.Milliseconds()}
	if prompt.Asked(artifact.Open(dir)) {
		reason.Detail = "the last line looks like a question, and nobody answers a run: give it its input when it is started, or the flag that stops it from asking"
	}
	return reason
}
