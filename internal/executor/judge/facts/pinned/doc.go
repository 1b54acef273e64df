// Package pinned knows the bytes of files and keeps them as they were when they
// were hashed, until they are executed.
//
// A descriptor pins a file, not its bytes. What only root can write stays as it
// is by itself. Of what we can write, a binary is kept by a lease ([Hold]): as
// long as it lasts nobody opens the file for writing, and from its execution on
// the kernel refuses that by itself. A script is opened by its interpreter, by
// name and at any time, so it is copied while it is hashed ([Copy]).
//
// # Limits
//
// A writer waits for a lease no longer than the kernel's fs.lease-break-time, 45
// seconds; whoever can stop our processes for that long, which takes our own
// account, gets past it. Package contain asks right before the execution whether
// the lease is still whole. Nothing here says who may write to a file.
package pinned
