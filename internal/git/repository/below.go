package repository

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"paddock"
)

// Below looks at root, and, where it is no repository itself, at the one that it is a
// directory of: the one whose own files are in store, as the policy has it. It is never
// searched for, since whoever can write below could put one in the way; and it must have its
// own files there and nowhere else, since nothing but those and the root is to be read.
func Below(root, store string) (Look, error) {
	l, err := At(root)
	if err != nil || store == "" {
		return l, err
	}
	if l.Dir != "" { // which a run is shown beside what the policy names
		if st, err := os.Lstat(store); err != nil || !st.IsDir() {
			return l, paddock.Refused(paddock.RepositoryRefused, "The root is a repository itself, and %s, which the policy names above it, is no directory.", store)
		}
		return l, nil
	}
	top := filepath.Dir(store)
	real, err := filepath.EvalSymlinks(top)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, missing(top, err)
	}
	prefix, err := filepath.Rel(real, l.Root)
	if err != nil || !filepath.IsLocal(prefix) || prefix == "." || real != top || l.Root != root { // a link could have it told of another directory
		r := paddock.Refused(paddock.RepositoryRefused, "The root %s or the repository %s lies behind a symbolic link.", root, top)
		r.Hint = "The operator names both in the policy by the paths that links lead to."
		return l, r
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		return l, missing(top, err)
	}
	defer dir.Close()
	return l, theirs(l.above(dir, real, prefix))
}

// above looks at the repository at top, of which prefix is the root.
func (l *Look) above(dir *os.Root, top, prefix string) error {
	st, err := dir.Lstat(".git")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !st.IsDir():
		return paddock.Refused(paddock.RepositoryRefused, "The .git of %s isn't a directory: its files lie elsewhere, and the policy gives nothing but that path.", top)
	}
	for between := path.Dir(prefix); between != "."; between = path.Dir(between) {
		if _, err := dir.Lstat(path.Join(between, ".git")); !nowhere(err) {
			return paddock.Refused(paddock.RepositoryRefused, "Between %s and the root lies another repository, %q.", top, between)
		}
	}
	if _, err := dir.Lstat(".git/commondir"); !nowhere(err) {
		return paddock.Refused(paddock.RepositoryRefused, "The repository %s shares the files of another one (commondir), which the policy doesn't give.", top)
	}
	l.Top, l.Prefix = top, prefix
	l.Dir = filepath.Join(top, ".git")
	return l.inside(dir, ".git")
}
