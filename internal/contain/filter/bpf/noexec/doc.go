// Package noexec has a process give up for good the right to become another program or
// to start one: a server that only takes requests and leaves runs to workers has no use
// for it, and whoever gets hold of it won't have one either.
//
// # Limits
//
// It takes execve and execveat away and nothing else: the process keeps its files,
// sockets and memory, and may still make processes that are copies of itself. There is no
// way back. On other systems than Linux, and on architectures without a filter, it refuses, with
// [errors.ErrUnsupported].
package noexec
