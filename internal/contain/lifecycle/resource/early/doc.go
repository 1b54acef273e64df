// Package early makes directories of cgroup v1 before it is known for which run, and
// takes away what nobody has any more.
//
// Such a directory has a name of its own until its run is there, which it is then
// renamed to. Its maker holds a lock on it until then, so that what one left that was
// ended is told from what one has.
//
// # Limits
//
// No process is ever in one before it is a run's. Cgroup v2 renames nothing, so it
// isn't for that. Linux only.
package early
