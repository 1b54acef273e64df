//go:build !linux

package reserve

import "os"

// allot gives f size bytes of room.
func allot(f *os.File, size int64) error { return zeros(f, size) }
