package repository

import (
	"context"
	"os"
	"path"

	"paddock/internal/git/repository/index"
	"paddock/internal/git/repository/settings"
)

// Tracked returns the directories, relative to the repository's top, that git tracks files
// in, of those at name or below it (all of them if it is empty), and whether that is easily
// told; where it isn't, git is to be asked.
func (l Look) Tracked(name string) (dirs []string, told bool) {
	told = l.indexed(func(_ *os.Root, all index.File) (ok bool) {
		dirs, ok = all.Directories(name)
		return ok
	})
	return dirs, told
}

// Unmoved reports whether git, which compares files with what its index says of them, finds the
// same where it compares nothing but size and time. It is for runs in which files seem to be
// somebody else's, so that git would take each for changed and read it. After half of mostTime it says no.
func (l Look) Unmoved(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, mostTime/2)
	defer cancel()
	return !l.Bare && l.indexed(func(dir *os.Root, all index.File) bool { return all.Unmoved(limited, dir) })
}

// indexed reports what f does of the index at the repository's top, if that can be read here.
func (l Look) indexed(f func(dir *os.Root, all index.File) bool) bool {
	if l.Prefix != "" {
		return false
	}
	dir, err := os.OpenRoot(l.Top)
	if err != nil {
		return false
	}
	defer dir.Close()
	all, ok := index.Read(dir, path.Join(l.own, "index"))
	return ok && l.ordinary(dir) && f(dir, all)
}

// ordinary reports whether no setting can be one by which an index is read in another way.
func (l Look) ordinary(dir *os.Root) bool {
	text, err := read(dir, path.Join(l.common, "config"))
	if err != nil {
		return nowhere(err)
	}
	return settings.Ordinary([]byte(text))
}
