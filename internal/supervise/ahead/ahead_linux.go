// Package ahead is what a supervisor has ready before its job is there.
//
// # Limits
//
// It fits runs as most are, at level full and without a network but their own. It is for
// one run, and not all of what that needs. Linux only.
package ahead

import (
	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/control/handover"
	"paddock/internal/spawn"
)

// A Process is the process in between, forked. Nil is one that isn't there.
type Process struct {
	process *spawn.Ahead // nil when it was taken
	// away is set when it is where a run belongs that leaves its caller's cgroup.
	away bool
}

// Fork forks it. Nil is harmless: it is forked later then.
func Fork() *Process {
	process, err := spawn.ForkAhead()
	if err != nil {
		return nil
	}
	return &Process{process, lifecycle.Away() != ""}
}

// Fits reports whether it is of use for a job.
func (p *Process) Fits(j handover.Job) bool {
	return p != nil && j.Contain.Level == paddock.Full && j.Contain.Network != "host" && (p.away || !j.LeaveCgroup)
}

// Take returns it for the start of a run, once.
func (p *Process) Take() *spawn.Ahead {
	if p == nil {
		return nil
	}
	process := p.process
	p.process = nil
	return process
}

// Close lets go of it, if nobody took it.
func (p *Process) Close() { p.Take().Close() }
