// Package owner shows parts of the file system with another owner, so that they
// are a run's own while on disk they stay whose they are.
//
// # Limits
//
// It needs root, and a file system that can be mounted so: ext4, xfs, btrfs,
// tmpfs and others from Linux 5.12 on, but not overlayfs and network file systems.
// It makes no user namespaces: package spawn does.
package owner

import (
	"fmt"
	"strings"

	"paddock"
)

// Reserved is where the ids begin that runs of root get where the policy names
// nobody: above what containers are given, and below what programs take for
// negative numbers. No user of a machine should have one.
const Reserved = 1_900_000_000

// ReservedCount is how many there are.
const ReservedCount = 1 << 20

// For returns the account of the run called id, where it has none of its own.
// Runs that go on at once have different ones, but for one chance in a million.
func For(id paddock.RunID) paddock.Account {
	n := uint32(2166136261) // FNV-1a
	for _, c := range []byte(id) {
		n = (n ^ uint32(c)) * 16777619
	}
	n = Reserved + n%ReservedCount
	return paddock.Account{UID: n, GID: n}
}

// most is one more than the highest id there is.
const most = 1<<32 - 1

// Swap is the map of a user namespace by which the id a is shown as b and b as
// a, and every other as itself. Nothing is unmapped: of a file whose group is
// nobody's the kernel would refuse even its owner to write it.
func Swap(a, b uint32) string {
	low, high := uint64(min(a, b)), uint64(max(a, b))
	var text strings.Builder
	line := func(inside, outside, count uint64) {
		if count > 0 {
			fmt.Fprintf(&text, "%d %d %d\n", inside, outside, count)
		}
	}
	if low == high {
		line(0, 0, most)
		return text.String()
	}
	line(0, 0, low)
	line(low, high, 1)
	line(low+1, low+1, high-low-1)
	line(high, low, 1)
	line(high+1, high+1, most-high-1)
	return text.String()
}
