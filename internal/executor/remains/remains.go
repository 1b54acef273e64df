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
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/rundir"
)

// Clear ends what is left of the run in its cgroups, removes them, looks for what it
// left of protected places, and takes away the placeholders in its workspace, whose
// place workspace knows. What its frames know of dropped output is noted. It returns what was found, nil where nobody was to look.
func Clear(dir *rundir.Dir, workspace func(*paddock.Grant) (string, error), now func() time.Time) (*paddock.Deeper, error) {
	err := lifecycle.EndCgroup(string(dir.ID()))
	found, lookErr := look(dir.Path(), now)
	err = errors.Join(err, lookErr, dropped(dir.Path()))
	sealed, readErr := dir.Sealed()
	g := sealed.Decision.Grant()
	if readErr != nil || g == nil || g.Contain.Level != paddock.Full {
		return found, errors.Join(err, readErr)
	}
	root, rootErr := workspace(g)
	if errors.Is(rootErr, fs.ErrNotExist) {
		return found, err // it is gone, and what was in it
	}
	if rootErr == nil {
		rootErr = sweep(root)
	}
	return found, errors.Join(err, rootErr)
}

// Unborn takes away what was made in root, and of cgroups, for a run that never came to be.
// What can't be taken away is told to warn.
func Unborn(id paddock.RunID, root string, warn func(error)) {
	err := lifecycle.EndCgroup(string(id))
	if real, linkErr := filepath.EvalSymlinks(root); root != "" && linkErr == nil && real == root { // else it is another one
		err = errors.Join(err, sweep(root))
	}
	if err != nil {
		warn(fmt.Errorf("what run %s left, which isn't to be: %w", id, err))
	}
}

// Groups lists the names of cgroups that runs have, of whatever state directory.
func Groups() ([]string, error) { return lifecycle.Groups() }

// Placeholders lists what is left in a workspace root on which no run relies.
func Placeholders(root string) []string { return placeholders(root) }
