package trust

import (
	"errors"
	"slices"
	"syscall"
)

// faults are what this process or its machine runs out of, or breaks by.
var faults = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}

// Fault reports whether err tells of us, who looked, and nothing of what was
// looked at: no descriptors or memory left, or a disk that fails. Nobody may take
// it for a file that isn't there or can't be believed.
func Fault(err error) bool {
	return slices.ContainsFunc(faults, func(e syscall.Errno) bool { return errors.Is(err, e) })
}
