// Package contain knows what this machine and this version can hold a run with.
//
// In this version that is the means of ending a whole tree (see
// [paddock.Isolation]) and the cgroup a supervisor moves to so that it doesn't
// end with its caller. Files, network and memory are not held yet: [Levels]
// says so, and a policy that requires more is refused.
//
// # Limits
//
// The package starts nothing and decides nothing. It can't tell whether a
// namespace will be given without asking for one: package spawn asks, and takes
// the next means when the kernel refuses. On other systems than Linux it knows
// of no level, so that nothing runs there.
package contain

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
