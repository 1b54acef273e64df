// Package failpoint names the moments at which a crash or a failing disk hurts
// most, so that tests/chaos can let one happen there.
//
// In a build without the tag failpoints, so in every one that is released, its
// functions do nothing and are compiled to nothing. With the tag, a binary reads
// when it starts what shall happen, from the file beside it that is named as
// itself with [Suffix]: a line
//
//	NAME N ACTION
//
// where NAME is a point or * for any, N counts how often it is reached, and ACTION
// is kill, which ends the process as kill -9 does, or EIO or ENOSPC, which is
// the error of the disk there; with a + behind it also of all points after it.
//
// A file that is named as the binary with [ClockSuffix] has a time such as 90s or -1h, by
// which the clock of what people type, and of a server, is wrong.
//
// # Limits
//
// Only what is ours can fail: what the kernel tells us on its own is tried on a
// disk that is really full. A plan that can't be read is one of nothing.
package failpoint

const (
	// Suffix is of the file that says what shall happen.
	Suffix = ".fail"
	// ClockSuffix is of the file that says by how much the machine's clock is wrong.
	ClockSuffix = ".clock"
	// HitSuffix is of the file that gets a line for what did.
	HitSuffix = ".hit"
)
