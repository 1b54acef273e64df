// Package remains clears away what a run has outside of its record, when the
// supervisor that would have done it was ended.
//
// It is called before the run is settled: what is settled is nobody's business
// any more, and one who clears can be ended, too.
//
// # Limits
//
// What another account made, or what the kernel doesn't let go of, is left, and
// the error says so. What a run keeps on purpose isn't touched.
package remains

import (
	"errors"

	"paddock"
	"paddock/internal/contain/lifecycle"
)

// Clear ends what is left of the run in its cgroups, removes them, and takes
// away the placeholders in the workspace root, unless that is empty.
func Clear(id paddock.RunID, root string) error {
	err := lifecycle.EndCgroup(string(id))
	if root != "" {
		err = errors.Join(err, sweep(root))
	}
	return err
}
