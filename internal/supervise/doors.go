//go:build linux

package supervise

import (
	"fmt"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/control"
)

// handler answers the verbs of the control protocol.
type handler struct{ run *run }

// Status returns what is known now.
func (h handler) Status() control.Status { return h.run.hub.Status() }

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

// Renew lets a leased run go on. A run that nobody leased goes on anyway.
func (h handler) Renew(until time.Duration) error { h.run.lease.Renew(until); return nil }

// Subscribe returns events from now on, beginning with where the run stands.
func (h handler) Subscribe() (<-chan control.Event, func()) { return h.run.hub.Subscribe() }

// Type asks something of the run's terminal.
func (h handler) Type(t control.Typed) error { return h.run.terminal.Type(t) }
