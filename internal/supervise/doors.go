package supervise

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/control"
	"paddock/internal/spawn"
)

// handler answers the verbs of the control protocol.
type handler struct{ run *run }

// Status returns what is known now.
func (h handler) Status() control.Status { return h.run.hub.status() }

// Kill asks for the end. It returns at once; the outcome tells what came of it.
func (h handler) Kill(k control.Kill) error {
	signals := map[string]syscall.Signal{
		"": syscall.SIGTERM, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
	}
	signal, ok := signals[k.Signal]
	if !ok {
		return fmt.Errorf("signal %q: want TERM, INT, HUP or KILL", k.Signal)
	}
	switch k.Kind {
	case paddock.ReasonKill, paddock.ReasonAbort, paddock.ReasonShutdown:
	default:
		return fmt.Errorf("kind %q: want kill, abort or shutdown", k.Kind)
	}
	h.run.ask(end{paddock.Reason{Kind: k.Kind, By: k.By, Why: k.Why}, signal})
	return nil
}

// Renew is for leased runs; nobody leases this one, so there is nothing to do.
func (h handler) Renew() error { return nil }

// Subscribe returns events from now on, beginning with where the run stands.
func (h handler) Subscribe() (<-chan control.Event, func()) { return h.run.hub.subscribe() }

// A hub tells subscribers what happens. A slow one misses outputs, never the
// news that matter: after a missed output another follows or the end does.
type hub struct {
	mu     sync.Mutex
	now    control.Status
	end    *paddock.Outcome
	closed bool
	subs   map[chan control.Event]bool
	gone   sync.Cond // signalled when a subscriber leaves
}

// mailbox is how many events a subscriber can be behind.
const mailbox = 8

func newHub() *hub {
	h := &hub{subs: map[chan control.Event]bool{}, now: control.Status{State: paddock.Starting}}
	h.gone.L = &h.mu
	return h
}

func (h *hub) status() control.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hub) subscribe() (<-chan control.Event, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := make(chan control.Event, mailbox)
	switch {
	case h.end != nil:
		c <- control.Event{Kind: "settled", Stdout: h.now.Stdout, Stderr: h.now.Stderr, Outcome: h.end}
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

func (h *hub) started(p *spawn.Program) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now.State, h.now.LeaderPID, h.now.Isolation = paddock.Running, p.Leader(), p.Isolation
	h.tell(control.Event{Kind: "started", Stdout: h.now.Stdout, Stderr: h.now.Stderr})
}

func (h *hub) output(stdout, stderr int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now.Stdout, h.now.Stderr = max(h.now.Stdout, stdout), max(h.now.Stderr, stderr)
	event := control.Event{Kind: "output", Stdout: h.now.Stdout, Stderr: h.now.Stderr}
	for c := range h.subs {
		select {
		case c <- event:
		default:
		}
	}
}

// settle tells the outcome and closes the mailboxes.
func (h *hub) settle(outcome paddock.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = &outcome
	h.now.State, h.now.Settled = outcome.State, true
	h.now.Stdout, h.now.Stderr = outcome.Stdout.Bytes, outcome.Stderr.Bytes
	h.tell(control.Event{Kind: "settled", Stdout: h.now.Stdout, Stderr: h.now.Stderr, Outcome: &outcome})
	h.shut()
}

// tell puts event into every mailbox, in place of an older one where it is full.
func (h *hub) tell(event control.Event) {
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

func (h *hub) shut() {
	if h.closed {
		return
	}
	h.closed = true
	for c := range h.subs {
		close(c)
	}
}

// close ends a hub whose run never lived.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shut()
}

// drain waits until every subscriber has heard the end, for at most limit: a
// subscriber that doesn't read finds the outcome in the run's directory.
func (h *hub) drain(limit time.Duration) {
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
