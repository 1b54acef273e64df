//go:build linux

// Package hub tells everybody who listens to a run what happens to it.
//
// # Limits
//
// A hub passes on news and keeps only the latest. What was printed is in the
// run's directory, and so is the outcome for who didn't hear it here.
package hub

import (
	"sync"
	"time"

	"paddock"
	"paddock/internal/control"
)

// A Hub tells subscribers what happens. A slow one misses outputs, never the
// news that matter: after a missed output another follows or the end does.
type Hub struct {
	mu     sync.Mutex
	now    control.Status
	end    *paddock.Outcome
	kept   bool
	closed bool
	subs   map[chan control.Event]bool
	gone   sync.Cond // signalled when a subscriber leaves

	told  time.Time     // when the last output was
	said  int64         // how much there was then
	wait  time.Duration // how long until the next may be
	later *time.Timer   // tells of what was printed since; nil when nothing waits
}

// pause is how often outputs are told of at most. A program that prints as fast as
// it can would have us write and everybody read thousands of events a second, on
// the processors that it prints with. Of one that prints more than much in between
// it is told at a rest: nobody can tell its next piece from the one after that.
const (
	pause = 2 * time.Millisecond
	rest  = 10 * time.Millisecond
	much  = 1 << 20
)

// mailbox is how many events a subscriber can be behind.
const mailbox = 8

// New returns the hub of a run that hasn't started.
func New() *Hub {
	h := &Hub{subs: map[chan control.Event]bool{}, now: control.Status{State: paddock.Starting}}
	h.gone.L = &h.mu
	return h
}

// Status returns what is known now.
func (h *Hub) Status() control.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// Subscribe returns events from now on, beginning with where the run stands,
// and what ends the subscription. The channel is closed after the last event.
func (h *Hub) Subscribe() (<-chan control.Event, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan control.Event, mailbox)
	switch {
	case h.end != nil:
		c <- h.settled()
	case h.now.State == paddock.Running:
		c <- control.Event{Kind: "started", Stdout: h.now.Stdout, Stderr: h.now.Stderr}
	}
	if h.closed {
		close(c)
		return c, func() {}
	}
	h.subs[c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subs, c)
		h.gone.Broadcast()
	}
}

// Started tells that the program runs.
func (h *Hub) Started(leader int, by paddock.Isolation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now.State, h.now.LeaderPID, h.now.Isolation = paddock.Running, leader, by
	h.tell(control.Event{Kind: "started", Stdout: h.now.Stdout, Stderr: h.now.Stderr})
}

// Output tells how much has been kept.
func (h *Hub) Output(stdout, stderr int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now.Stdout, h.now.Stderr = max(h.now.Stdout, stdout), max(h.now.Stderr, stderr)
	switch wait := h.wait - time.Since(h.told); {
	case h.now.State == paddock.Starting, h.closed:
		// A fast program; the news of its start, or of its end, will say the sizes.
	case wait <= 0:
		h.output()
	case h.later == nil:
		h.later = time.AfterFunc(wait, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.later != nil && !h.closed {
				h.output()
			}
		})
	}
}

// output tells the sizes as they are now. The caller holds mu.
func (h *Hub) output() {
	if h.later != nil {
		h.later.Stop() // or it finds that it was told already
		h.later = nil
	}
	all := h.now.Stdout + h.now.Stderr
	if h.wait = pause; all-h.said >= much {
		h.wait = rest
	}
	h.told, h.said = time.Now(), all
	event := control.Event{Kind: "output", Stdout: h.now.Stdout, Stderr: h.now.Stderr}
	for c := range h.subs {
		select {
		case c <- event:
		default:
		}
	}
}

// Settle tells the outcome and closes the mailboxes. Kept is as in [control.Event].
func (h *Hub) Settle(outcome paddock.Outcome, kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end, h.kept = &outcome, kept
	h.now.State, h.now.Settled = outcome.State, true
	h.now.Stdout, h.now.Stderr = outcome.Stdout.Bytes, outcome.Stderr.Bytes
	h.tell(h.settled())
	h.shut()
}

// settled is the last event. The caller holds mu.
func (h *Hub) settled() control.Event {
	return control.Event{Kind: "settled", Stdout: h.now.Stdout, Stderr: h.now.Stderr, Outcome: h.end, Kept: h.kept}
}

// tell puts event into every mailbox, in place of an older one where it is full.
func (h *Hub) tell(event control.Event) {
	for c := range h.subs {
		for sent := false; !sent; {
			select {
			case c <- event:
				sent = true
			default:
				select {
				case <-c:
				default:
				}
			}
		}
	}
}

func (h *Hub) shut() {
	if h.closed {
		return
	}
	h.closed = true
	if h.later != nil {
		h.later.Stop()
	}
	for c := range h.subs {
		close(c)
	}
}

// Close ends a hub whose run never lived.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut()
}

// Drain waits until every subscriber has heard the end, for at most limit: a
// subscriber that doesn't read finds the outcome in the run's directory.
func (h *Hub) Drain(limit time.Duration) {
	timer := time.AfterFunc(limit, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		clear(h.subs)
		h.gone.Broadcast()
	})
	defer timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.subs) > 0 {
		h.gone.Wait()
	}
}
