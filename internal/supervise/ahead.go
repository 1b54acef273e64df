//go:build linux

package supervise

import (
	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/spawn"
)

// An Ahead is what a supervisor has ready before its job is there.
type Ahead struct {
	process *spawn.Ahead
	// away is set when it is where a run belongs that leaves its caller's cgroup.
	away bool
}

// ForkAhead forks the process in between for a run as most are, at level full and
// without a network but its own. Nil is harmless: it is forked later then.
func ForkAhead() *Ahead {
	process, err := spawn.ForkAhead()
	if err != nil {
		return nil
	}
	return &Ahead{process, lifecycle.Away() != ""}
}

// Close lets go of it, if there is no run for it.
func (a *Ahead) Close() {
	if a != nil {
		a.process.Close()
	}
}

// sortOut lets go of what was made ahead if it is for another kind of run.
func (r *run) sortOut() {
	ahead := r.opt.Ahead
	if ahead == nil || r.job.Contain.Level == paddock.Full && r.job.Contain.Network != "host" && (ahead.away || !r.job.LeaveCgroup) {
		return
	}
	r.opt.Ahead = nil
	r.cleaning.Go(ahead.Close)
}

// ahead returns what was forked ahead, once.
func (r *run) ahead() *spawn.Ahead {
	ahead := r.opt.Ahead
	if r.opt.Ahead = nil; ahead == nil {
		return nil
	}
	return ahead.process
}
