// Package held looks at a repository's own files: what git would read there and is neither a file nor a
// directory is refused.
//
// # Limits
//
// A look is of the moment. It looks at the kinds of files and not into them, and not at each log of a reference.
package held

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"paddock"
)

// mostHeld and deepest bound how many of git's own files are looked at, and how deep they lie.
const (
	mostHeld = 100_000
	deepest  = 64
)

// Of the directories that git has files of its own in, it may read any in those of whole, however deep;
// of those in first only what lies in them directly is looked at. Apart are those that others use too,
// so that they may lie elsewhere: git is started so that it reads nothing in them by itself.
var (
	whole = []string{"refs", "info", "objects/info", "objects/pack", "remotes", "branches", "reftable", "sequencer", "rebase-merge", "rebase-apply"}
	first = []string{"objects", "logs"}
	apart = []string{"hooks", "lfs", "annex", "modules"}
)

// Look looks at git's own files, in own and in common, and refuses links among them, which could show what isn't the repository's,
// and what is no file, for which git would wait. Promised reports whether there are packs from a
// repository that has more.
func Look(dir *os.Root, own, common string) (promised bool, err error) {
	s := sight{left: mostHeld}
	for _, base := range slices.Compact([]string{own, common}) {
		// A path is looked at from its beginning: the directory may lie behind a link.
		for p := base; p != "." && p != "/"; p = path.Dir(p) {
			if st, err := dir.Lstat(p); err == nil && st.Mode()&fs.ModeSymlink != 0 {
				return false, s.refuse(p, st.Mode())
			}
		}
		if st, err := dir.Lstat(path.Join(base, "HEAD")); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return false, paddock.Refused(paddock.RepositoryRefused, "HEAD is a symbolic link, as very old versions of git made it; `git symbolic-ref HEAD` shows what it should say.")
		}
		err := s.at(dir, base, 1, apart)
		for _, name := range first {
			err = cmp.Or(err, s.at(dir, path.Join(base, name), 1, nil))
		}
		for _, name := range whole {
			err = cmp.Or(err, s.at(dir, path.Join(base, name), deepest, nil))
		}
		if err != nil {
			return false, err
		}
	}
	return s.promised, nil
}

// Loose looks at the loose objects in common, and refuses links among them and what is no file. There can be many, so who
// has git contained, so that links lead it nowhere, doesn't ask.
func Loose(dir *os.Root, common string) error {
	s := sight{left: mostHeld}
	name := path.Join(common, "objects")
	if st, err := dir.Lstat(name); err != nil || !st.IsDir() {
		return absent(err) // git says so of what is none
	}
	objects, err := dir.OpenRoot(name)
	if err != nil {
		return absent(err)
	}
	defer objects.Close()
	for n := range 256 {
		two := fmt.Sprintf("%02x", n)
		if st, err := objects.Lstat(two); err != nil || !st.IsDir() {
			continue // a link was refused
		}
		within, err := objects.OpenRoot(two)
		if err != nil {
			return err
		}
		err = s.in(within, path.Join(name, two), 1, nil)
		_ = within.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// A sight is what was seen of git's own files.
type sight struct {
	left     int // of those that may be looked at
	promised bool
}

// at looks at what is in a directory of dir, if it is one, and in those in it, so many levels; links may
// have the names in may.
func (s *sight) at(dir *os.Root, name string, levels int, may []string) error {
	if st, err := dir.Lstat(name); Nowhere(err) || err == nil && !st.IsDir() {
		return nil
	}
	within, err := dir.OpenRoot(name)
	if err != nil {
		return absent(err)
	}
	defer within.Close()
	return s.in(within, name, levels, may)
}

// in is at, of a directory that is open: what is in it isn't looked for from the top, which could be far.
func (s *sight) in(dir *os.Root, name string, levels int, may []string) error {
	entries, err := list(dir, s.left+1)
	if err != nil {
		return err
	}
	if s.left -= len(entries); s.left < 0 {
		r := paddock.Refused(paddock.RepositoryRefused, "The repository has more than %d files of its own to look at.", mostHeld)
		r.Hint = "`git pack-refs --all` makes one file of all references."
		return r
	}
	for _, e := range entries {
		at, kind := path.Join(name, e.Name()), e.Type()
		s.promised = s.promised || strings.HasSuffix(name, "objects/pack") && strings.HasSuffix(at, ".promisor")
		switch {
		case kind&fs.ModeSymlink != 0 && slices.Contains(may, e.Name()):
		case kind.IsDir() && levels == 2: // git may look further
			err = paddock.Refused(paddock.RepositoryRefused, "%q in the repository lies deeper than is looked.", at)
		case kind.IsDir() && levels > 2:
			var within *os.Root
			if within, err = dir.OpenRoot(e.Name()); err == nil {
				err = s.in(within, at, levels-1, nil)
				_ = within.Close()
			}
			err = absent(err)
		case !kind.IsDir() && !kind.IsRegular() && kind&fs.ModeSocket == 0: // which nobody can open
			err = s.refuse(at, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Nowhere reports whether err says that there is no such file, nor a directory for one.
func Nowhere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func absent(err error) error {
	if Nowhere(err) {
		return nil
	}
	return err
}

func (s *sight) refuse(name string, kind fs.FileMode) error {
	if kind&fs.ModeSymlink != 0 {
		return paddock.Refused(paddock.RepositoryRefused, "%q in the repository is a symbolic link.", name)
	}
	return paddock.Refused(paddock.RepositoryRefused, "%q in the repository is neither a file nor a directory.", name)
}

// list returns what is in a directory, so many at most.
func list(dir *os.Root, most int) (_ []fs.DirEntry, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, absent(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	entries, err := f.ReadDir(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
