package task

import (
	"slices"
	"time"
)

// Stale says what is too old to be kept of things that are settled. Nothing said is
// nothing too old.
type Stale struct {
	// Since is when the last change was at the latest; what is older goes.
	Since time.Time
	// Most is how many stay, the newest.
	Most *int
}

// Old returns those of all that stale says, oldest first; at is when one changed last.
func Old[T any](stale Stale, all []T, at func(T) time.Time) []T {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b T) int { return at(a).Compare(at(b)) })
	n := 0
	for n < len(all) && at(all[n]).Before(stale.Since) {
		n++
	}
	if stale.Most != nil {
		n = max(n, len(all)-max(0, *stale.Most))
	}
	return all[:n]
}
