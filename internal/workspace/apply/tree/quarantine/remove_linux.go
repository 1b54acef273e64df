package quarantine

import (
	"errors"
	"io/fs"
	"os"

	"paddock/internal/workspace/apply/tree"
)

// Size is how many bytes the files in the quarantine of the run in runDir have,
// as far as they can be counted, and whether there is one.
func Size(runDir string) (bytes int64, there bool, err error) {
	if _, err := os.Lstat(Dir(runDir)); errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	root, err := tree.Open(Dir(runDir))
	if err != nil {
		return 0, true, err
	}
	seen, err := root.Walk(mostEntries, false)
	for _, e := range seen.Entries {
		bytes += e.Size
	}
	if errors.Is(err, tree.ErrTooMany) {
		err = nil
	}
	return bytes, true, errors.Join(err, root.Close())
}

// Remove removes the quarantine of the run in runDir.
func Remove(runDir string) error { return tree.Remove(Dir(runDir)) }
