// Package lifecycle has the means of ending a whole tree of processes, apart
// from what else contains it: which there are, the cgroup of a run, the cgroup
// that supervisors leave to, and what /proc tells of descendants.
//
// # Limits
//
// The package starts nothing. Whether a namespace is given is known only by
// asking for one, which package spawn does. On other systems than Linux there
// is nothing here to hold a tree with.
package lifecycle

import "paddock"

// Isolations lists the means of holding a tree that are worth trying for a
// process of the given effective user id, strongest first. Root needs no user
// namespace; others can't have a PID namespace without one.
func Isolations(euid int) []paddock.Isolation {
	if euid == 0 {
		return []paddock.Isolation{paddock.PIDNamespace, paddock.UserPIDNamespace, paddock.CgroupKill, paddock.Guardian}
	}
	return []paddock.Isolation{paddock.UserPIDNamespace, paddock.CgroupKill, paddock.Guardian}
}
