//go:build unix

package marks

import "syscall"

// noFollow keeps a link out of the way, and a FIFO put in a file's place from
// blocking whoever opens it.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
