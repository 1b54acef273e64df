package repository

import (
	"io/fs"
	"os"
	"path"
	"strings"

	"paddock/internal/git/repository/index"
)

// Nested reports whether the repositories that git tracks a commit of lie in the working tree with all their own
// files, and whether that can be told: git looks into each for which commit that is now.
func (l Look) Nested() (inside, told bool) {
	inside = true
	told = l.indexed(func(dir *os.Root, all index.File) bool {
		names, ok := all.Commits()
		for _, name := range names {
			inside = inside && l.encloses(dir, name)
		}
		return ok
	})
	return inside, told
}

// encloses reports whether what is at name is no repository, or has all its own files below the top.
func (l Look) encloses(dir *os.Root, name string) bool {
	for p := path.Clean(name); p != "." && p != "/"; p = path.Dir(p) {
		if st, err := dir.Lstat(p); leads(err) || err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return false
		}
	}
	at := path.Join(name, ".git")
	st, err := dir.Lstat(at)
	switch {
	case nowhere(err):
		return true
	case err != nil:
		return false
	case st.Mode().IsRegular():
		text, err := read(dir, at)
		to, ok := strings.CutPrefix(text, "gitdir: ")
		if err == nil && ok {
			at, err = local(l.Top, name, to, "The file .git")
		}
		if err != nil || !ok {
			return false
		}
	}
	other := Look{Top: l.Top}
	return other.inside(dir, at) == nil
}
