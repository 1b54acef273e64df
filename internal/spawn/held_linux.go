package spawn

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle"
)

// heldBy says by what the tree is held, and has the run's cgroup where it is by that.
func (p *Program) heldBy(spec *Spec, isolation paddock.Isolation) (cgroupFiles, error) {
	if p.Isolation = isolation; isolation != paddock.CgroupKill {
		return cgroupFiles{}, nil
	}
	group := spec.Cgroup
	if p.given = group != nil; !p.given {
		var err error
		if group, err = lifecycle.NewCgroup(spec.Name); err != nil {
			return cgroupFiles{}, &StartError{"cgroup", err}
		}
	}
	p.group = group
	return cgroupFiles{group.Procs, group.Kill}, nil
}

func (p *Program) removeCgroup() {
	if p.group != nil && !p.given {
		_ = p.group.Remove() // an empty directory is left at worst
	}
}

// mountsOf keeps the mounts of p from being taken away by the end of the last process that
// sees them, so that this end needn't wait for that: it waits for all processors.
func mountsOf(p *Program) *os.File {
	if p.Isolation != paddock.PIDNamespace {
		return nil // elsewhere nobody waits for it, or there are none
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", p.holder))
	if err != nil {
		return nil // then it waits
	}
	return f
}

// take passes on the leader's first exit; a program that forges another must
// not make us wait for a listener. That the tree is empty is believed where no program
// can forge it: in a user namespace, or as another account that never becomes root again, it
// can't reach the process in between, which has no other process below it then, as the init
// of what holds them.
func (p *Program) take(r report) {
	switch r.kind {
	case reportLeader:
		if !p.exited {
			p.exited = true
			p.exit <- Exit{Status: syscall.WaitStatus(r.a)}
		}
	case reportEmpty:
		if p.early {
			return
		}
		p.end.Leftovers, p.took = int(r.a), time.Duration(r.b)*time.Millisecond
		if p.Isolation == paddock.UserPIDNamespace || p.Isolation == paddock.PIDNamespace && p.beneath {
			p.early = true
			close(p.empty)
		}
	}
}
