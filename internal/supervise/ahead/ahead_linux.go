// Package ahead is what a supervisor has ready before its job is there.
//
// # Limits
//
// It fits runs as most are: below level full, or at it without a network but their own. It
// is for one run, and not all of what that needs. Linux only.
package ahead

import (
	"io"
	"os"
	"sync"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/contain/owner"
	"paddock/internal/control/handover"
	"paddock/internal/spawn"
	"paddock/internal/supervise/ahead/mounts"
)

// A Process is the process in between, forked, and for runs of root with the ground of
// their tree. Nil is one that isn't there.
//
// What the machine has mounted by then is part of the ground. So that nothing which the
// machine wants to let go of is kept busy by that, and no run sees what it wouldn't see if
// it had been started in the usual way, a ground is given up when anything is mounted,
// unmounted or mounted in another way, and built anew when that is over.
type Process struct {
	// away is set when it is where a run belongs that leaves its caller's cgroup.
	away   bool
	ground bool
	below  bool           // it is for runs below level full
	hedge  *contain.Hedge // what keeps one at standard from files; nil without
	// owners is by what a workspace is shown as the run's own; nil if we aren't root.
	owners *spawn.Namespace
	over   io.Closer // tells who looks after the ground that nobody needs to; nil without

	mu      sync.Mutex       // guards all below
	process *spawn.Ahead     // nil when it was taken or given up
	account *paddock.Account // whose the ground is
	since   *mounts.Table    // the machine's mounts, from before the ground was built
	taken   bool             // nothing is built any more
	seen    *contain.Host    // see Rouse
	seenAt  time.Time

	quiet time.Duration // see there
	built func()        // for tests: called when a ground was built anew; nil for everybody else
}

// quiet is for how long nothing is mounted before a ground is built again.
const quiet = time.Second

// Fork forks it, with a ground where that is wanted and we are root. Nil is harmless: it
// is forked later then.
func Fork(ground bool) *Process {
	return fork(&Process{away: lifecycle.Away() != "", ground: ground && os.Geteuid() == 0, quiet: quiet})
}

// ForkBetween forks it for a run below level full, with what keeps one at standard from files
// where that is wanted. Nil is harmless here, too.
func ForkBetween(hedge bool) *Process {
	p := fork(&Process{away: lifecycle.Away() != "", below: true})
	if p != nil && hedge {
		p.hedge, _ = contain.NewHedge(contain.Probe()) // else it is made later, which tells what is wrong
	}
	return p
}

func fork(p *Process) *Process {
	if os.Geteuid() == 0 && !p.below {
		p.owners, _ = spawn.NamespaceAhead() // else it is made later, which tells what is wrong
	}
	var watch *mounts.Table
	var ended, over *os.File
	var err error
	if p.ground {
		if watch, err = mounts.Open(); err == nil {
			ended, over, err = os.Pipe()
		}
	}
	if err == nil {
		err = p.build()
	}
	if err != nil {
		watch.Close()
		_, _ = ended.Close(), over.Close() // nothing went through, and nil may be closed
		p.Close()
		return nil
	}
	if !p.ground {
		return p
	}
	p.over = over
	go p.keep(watch, ended)
	return p
}

// build forks the process, for as long as nobody has come for it.
func (p *Process) build() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken {
		return nil
	}
	var ground *contain.Ground
	if p.ground {
		since, err := mounts.Open() // before anything is looked at
		if err != nil {
			return err
		}
		id, err := paddock.NewRunID(time.Now(), nil)
		if err != nil {
			since.Close()
			return err
		}
		account := owner.For(id)
		ground, p.account, p.since = contain.NewGround(contain.Probe(), account), &account, since
	}
	var process *spawn.Ahead
	var err error
	if p.below {
		process, err = spawn.ForkBetween(lifecycle.Isolations(os.Geteuid()))
	} else {
		process, err = spawn.ForkAhead(ground)
	}
	if err != nil {
		p.drop()
		return err
	}
	p.process = process
	return nil
}

// drop lets go of what there is. The caller holds p.mu.
func (p *Process) drop() {
	p.process.Close()
	p.process = nil
	if p.since != nil {
		p.since.Close()
		p.since = nil
	}
}

// keep gives the ground up when it isn't what the machine has any more, until somebody
// comes for it.
func (p *Process) keep(watch *mounts.Table, over *os.File) {
	defer func() {
		watch.Close()
		_ = over.Close() // nothing went through
	}()
	for {
		if _, ended := watch.Await(over, -1); ended {
			return
		}
		p.mu.Lock()
		if !p.taken {
			p.drop()
		}
		p.mu.Unlock()
		for changed := true; changed; {
			var ended bool
			if changed, ended = watch.Await(over, p.quiet); ended {
				return
			}
		}
		if p.build() != nil {
			return // a run is started in the usual way then
		}
		if p.built != nil {
			p.built()
		}
	}
}

// fresh reports whether there is a process, and its ground is what the machine has. The
// caller holds p.mu.
func (p *Process) fresh() bool { return p.process != nil && (p.since == nil || !p.since.Changed()) }

// Fits reports whether it is of use for a job.
func (p *Process) Fits(j handover.Job) bool {
	switch full := j.Contain.Level == paddock.Full; {
	case p == nil || p.below == full || !p.away && j.LeaveCgroup:
		return false
	case full && (j.Contain.Network == "host" || p.ground && !contain.Grounds(j.Contain)):
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.fresh() {
		p.drop()
		return false
	}
	return true
}

// lately is how old a look at the machine may be that was taken for a request: no older
// than one that was taken when the run's job came, but by what it takes to judge.
const lately = 100 * time.Millisecond

// Rouse looks at the machine, since a request is there that is being judged. Nil looks at
// nothing, nor does what is for a run at off.
func (p *Process) Rouse() {
	if p == nil || p.below && p.hedge == nil {
		return
	}
	host := contain.Probe()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.seenAt = &host, time.Now()
}

// Seen is the machine as it was seen when the run was asked for; nil if that wasn't lately.
func (p *Process) Seen() *contain.Host {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.seenAt) > lately {
		return nil
	}
	return p.seen
}

// Account is whose its run has to be; nil is anybody's.
func (p *Process) Account() *paddock.Account {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.account
}

// Take returns it for the start of a run, once. If anything was mounted since it was asked
// whether it fits, there is nothing to take.
func (p *Process) Take() *spawn.Ahead {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken {
		return nil
	}
	if p.taken = true; p.over != nil {
		_ = p.over.Close() // that it is closed is all there is to it
	}
	process := p.process
	if p.fresh() {
		p.process = nil
	} else {
		process = nil
	}
	p.drop()
	return process
}

// Namespace makes a user namespace with these maps, or has one that needs nothing else.
func (p *Process) Namespace(uidMap, gidMap string) (*os.File, error) {
	if p != nil && p.owners != nil {
		if file, err := p.owners.Map(uidMap, gidMap); err == nil {
			return file, nil
		}
	}
	return spawn.UserNamespace(uidMap, gidMap)
}

// Hedge is what was made of that, nil if nothing was.
func (p *Process) Hedge() *contain.Hedge {
	if p == nil {
		return nil
	}
	return p.hedge
}

// Close lets go of what nobody took.
func (p *Process) Close() {
	if p != nil {
		_ = p.hedge.Close() // nothing was written
		p.Take().Close()
		p.owners.Close()
	}
}
