package repository

import (
	"os"
	"path"
	"slices"

	"paddock/internal/git/repository/settings"
)

// Drivers returns the filters and hooks that the repository's settings name, as
// "filter.lfs" and "hook.x", and whether that is easily told; where it isn't, git is to be asked.
func (l Look) Drivers() (names []string, told bool) {
	dir, err := os.OpenRoot(l.Top)
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	for _, name := range l.settings() {
		text, err := read(dir, name)
		if nowhere(err) {
			continue
		}
		if err != nil {
			return nil, false
		}
		if names, told = settings.Drivers(names, []byte(text)); !told {
			return nil, false
		}
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// settings are the files in which the repository has its settings.
func (l Look) settings() []string {
	return []string{path.Join(l.common, "config"), path.Join(l.own, "config.worktree"), path.Join(l.common, "config.worktree")}
}
