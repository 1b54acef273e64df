//go:build unix

package artifact

import (
	"os"
	"syscall"
)

// noFollow keeps a link out of the way, and a FIFO put in a file's place from
// blocking whoever opens it.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func syncDir(dir *os.File) error { return dir.Sync() }
