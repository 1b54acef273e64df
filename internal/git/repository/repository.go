// Package repository looks at a repository without asking git, and refuses one
// that would make git read outside of its root.
//
// # Limits
//
// A look is of the moment, and logs of references aren't all looked at, nor, where containment holds that nothing
// outside is read, are loose objects. Git's configuration isn't read here.
package repository

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/git/repository/held"
)

// A Look is what was found at a root.
type Look struct {
	// Root is its path with links followed, Dir where git's own files are; empty
	// if there is no repository.
	Root, Dir string
	Bare      bool
	// Top is the repository's, which is Root, or above it by Prefix.
	Top, Prefix string
	// Branch is what HEAD stands for; empty when it is detached, or unknown.
	Branch   string
	Detached bool
	// Head is the id that HEAD stands for, as far as that is easily told.
	Head    string
	Shallow bool // history ends where it was cut
	Partial bool // objects are missing that somebody promised

	own, common string // where git's own files are, and those that worktrees share; relative to Top
	long        int    // how long ids are here; zero where that isn't easily told
}

const (
	mostText = 64 << 10         // bytes of small files that are read
	mostTime = 10 * time.Second // of looking at a working tree
)

// At looks at root. What leads outside of it is refused.
func At(root string) (Look, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Look{}, missing(root, err)
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		return Look{}, missing(root, err)
	}
	defer dir.Close()
	l := Look{Root: real, Top: real}
	own, err := find(dir, real, &l)
	if err != nil || own == "" {
		return l, theirs(err)
	}
	l.Dir = filepath.Join(real, own)
	return l, theirs(l.inside(dir, own))
}

// theirs refuses a repository whose files can't be looked at for a reason that is theirs.
func theirs(err error) error {
	for _, reason := range []error{fs.ErrPermission, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG} {
		if errors.Is(err, reason) {
			return paddock.Refused(paddock.RepositoryRefused, "The repository can't be looked at: %v.", err)
		}
	}
	return err
}

// missing is a root that isn't there.
func missing(root string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return paddock.Refused(paddock.CwdMissing, "The root %s can't be opened: %v.", root, errors.Unwrap(err))
	}
	return err
}

// find returns where git's own files are, relative to the root.
func find(dir *os.Root, real string, l *Look) (string, error) {
	st, err := dir.Lstat(".git")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		for _, name := range []string{"HEAD", "objects", "refs"} {
			if _, err := dir.Lstat(name); err != nil {
				return "", absent(err)
			}
		}
		l.Bare = true
		return ".", nil
	case err != nil:
		return "", err
	case st.IsDir():
		return ".git", nil
	case st.Mode().IsRegular():
		text, err := read(dir, ".git")
		if err != nil {
			return "", err
		}
		to, ok := strings.CutPrefix(text, "gitdir: ")
		if !ok {
			return "", paddock.Refused(paddock.RepositoryRefused, "The file .git says nothing of where the repository is.")
		}
		return local(real, ".", to, "The file .git")
	}
	return "", paddock.Refused(paddock.RepositoryRefused, "The .git of the root is neither a directory nor a file.")
}

func absent(err error) error {
	if nowhere(err) {
		return nil
	}
	return err
}

// local returns where to leads from the directory from, if that is inside. Behind the name of what could be a
// link, .. leads elsewhere than it says; and git reads no further than to a NUL.
func local(real, from, to, what string) (string, error) {
	named := false
	for part := range strings.SplitSeq(to, "/") {
		if part == ".." && named || strings.Contains(part, "\x00") {
			return "", paddock.Refused(paddock.RepositoryRefused, "%s leads to %q, which is no plain path.", what, to)
		}
		named = named || part != ".." && part != "." && part != ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(real, from, to)
	}
	inside, err := filepath.Rel(real, filepath.Clean(to))
	if err != nil || !filepath.IsLocal(inside) {
		return "", paddock.Refused(paddock.RepositoryRefused, "%s leads to %q, outside of the root.", what, to)
	}
	return inside, nil
}

// inside refuses git's own files that lead out of the root, and notes what they
// say of the repository.
func (l *Look) inside(dir *os.Root, own string) error {
	if st, err := dir.Lstat(own); err != nil || !st.IsDir() {
		return paddock.Refused(paddock.RepositoryRefused, "The directory of the repository, %q, isn't one.", own)
	}
	common := own
	if text, err := read(dir, path.Join(own, "commondir")); err == nil {
		if common, err = local(l.Top, own, text, "The file commondir"); err != nil {
			return err
		}
	} else if absent(err) != nil {
		return err
	}
	promised, err := held.Look(dir, own, common)
	if err != nil {
		return err
	}
	for _, name := range []string{"objects/info/alternates", "objects/info/http-alternates"} {
		text, err := read(dir, path.Join(common, name))
		if absent(err) != nil {
			return err
		}
		if text != "" {
			r := paddock.Refused(paddock.RepositoryRefused, "The repository borrows objects from elsewhere (%s).", name)
			r.Hint = "The operator makes it whole with `git repack -a -d` and removes that file."
			return r
		}
	}
	l.own, l.common = own, common
	head, err := read(dir, path.Join(own, "HEAD"))
	if absent(err) != nil {
		return err
	}
	if branch, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok && branch != ".invalid" {
		l.Branch = branch
	}
	l.long = longIDs(dir, common)
	l.Detached, l.Head = hexadecimal(head), l.id(headOf(dir, common, head))
	_, err = dir.Lstat(path.Join(common, "shallow"))
	l.Shallow, l.Partial = err == nil, promised
	return nil
}

func hexadecimal(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// read returns the text of a small file, without the line breaks at its end. One that isn't small is
// refused: what follows could say anything, and git would read it.
func read(dir *os.Root, name string) (string, error) {
	text, err := most(dir, name, mostText)
	return strings.TrimRight(string(text), "\r\n"), err
}

// most is read of a file that may have so many bytes, with all of them.
func most(dir *os.Root, name string, bytes int64) (_ []byte, err error) {
	st, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() { // a pipe would keep us waiting
		return nil, paddock.Refused(paddock.RepositoryRefused, "%q in the repository isn't a regular file.", name)
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it could be a pipe by now
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.LimitReader(f, bytes+1))
	if int64(len(text)) > bytes {
		return nil, paddock.Refused(paddock.RepositoryRefused, "%q in the repository is larger than the %d bytes that are read of it.", name, bytes)
	}
	return text, err
}

// leads reports whether err is of a name that links lead out of a root, or that is behind
// more of them than are followed here: the kernel follows more.
func leads(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "escapes") || errors.Is(err, syscall.ELOOP))
}

// Path refuses a path, relative to the root (empty for that), that a link leads out of it.
func (l Look) Path(name string) error {
	dir, err := os.OpenRoot(l.Root)
	if err != nil {
		return err
	}
	defer dir.Close()
	// What the name itself leads to doesn't matter: git takes a link for one.
	if _, err = dir.Lstat(name); leads(err) {
		return paddock.Refused(paddock.PathOutsideRoot, "The path %q lies behind a link that leads outside of the root.", name)
	}
	return nil // git says so of what isn't there now: it may have been; or a name that can't be a file's here
}

// Local refuses directories, relative to the root, whose names alone lead out of it: git writes no such names, and
// follows them.
func Local(names []string) error {
	for _, name := range names {
		if !filepath.IsLocal(name) {
			return outwards(name)
		}
	}
	return nil
}

func outwards(name string) error {
	r := paddock.Refused(paddock.PathOutsideRoot, "In the working tree %q leads outside of the root, and git tracks files there.", name)
	r.Hint = "Ask about a revision, as HEAD, or a path without it."
	return r
}

// Directories refuses directories, relative to the root, one of which a link leads
// out of it: git looks at files behind such links as if they were its own. Whoever made
// them can have them take long: then they are refused as well, after mostTime.
func (l Look) Directories(ctx context.Context, names []string) error {
	limited, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	dir, err := os.OpenRoot(l.Root)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range names {
		switch _, err := dir.Stat(name); {
		case leads(err):
			return outwards(name)
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			r := paddock.Refused(paddock.RepositoryRefused, "The directories that git tracks files in can't be looked at within %s before the working tree is read.", mostTime)
			r.Hint = "Ask about a revision, as HEAD, or give a path."
			return r
		}
	}
	return nil
}
