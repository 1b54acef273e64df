// Package resource limits what a run's whole tree of processes may use, and
// tells afterwards what it has used and which limit it met.
//
// [Probe] finds which means this process has: cgroup v2 where controllers are
// delegated to it, cgroup v1 hierarchies where they are its own to write, and
// rlimits, which everybody has. [Host.Plan] decides with values alone which
// directories, files and rlimits hold the given [Limits]; its [Means] go into
// the run's record. [Plan.Make] makes the directories, the starter lets the
// program write itself into [Group.Join] before it becomes the program, and
// [Group.Usage] tells an out-of-memory kill from any other.
//
// All groups are made below one folder, as high in the hierarchy as this
// process may write, so that a later process finds what an earlier one left.
// The same folder of the v2 hierarchy serves for ending a whole tree at once,
// also where v2 has no controllers.
//
// # Limits
//
// A memory limit counts swap where the kernel accounts for it, and keeps the
// run out of swap otherwise. CPU time, open files and file size are rlimits:
// they hold for each process, not for the tree. Nothing in the kernel limits
// what a tree writes to a disk altogether: package counts counts it, package
// supervise has to look and to end the run. How large /tmp may grow is a matter
// of its mount, which is not made here.
//
// A run leaves its caller's cgroup, so limits of that cgroup don't hold it. A
// program that can write to the cgroup filesystem can leave its group: hiding
// that is containment's. Runs inside a run have no groups of their own where
// the filesystem is hidden from them, and their limits are the outer run's.
package resource
