// Package repository looks at a repository without asking git, and refuses one
// that would make git read outside of its root.
//
// # Limits
//
// A look is of the moment, and one more file could be linked away in a directory
// of loose objects, which aren't all looked at: that nothing outside is read is
// held by containment, too. Git's configuration isn't read here.
package repository

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"paddock"
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
}

// mostText bounds the small files that are read.
const mostText = 64 << 10

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
		return l, err
	}
	l.Dir = filepath.Join(real, own)
	if err := l.inside(dir, own); err != nil {
		return l, err
	}
	return l, nil
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
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// local returns where to leads from the directory from, if that is inside.
func local(real, from, to, what string) (string, error) {
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
	if err := linked(dir, own, common); err != nil {
		return err
	}
	for _, name := range []string{"objects/info/alternates", "objects/info/http-alternates"} {
		text, err := read(dir, path.Join(common, name))
		if absent(err) != nil {
			return err
		}
		if strings.TrimSpace(text) != "" {
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
	l.Detached, l.Head = hexadecimal(head), headOf(dir, common, head)
	_, err = dir.Lstat(path.Join(common, "shallow"))
	l.Shallow = err == nil
	l.Partial, err = promised(dir, path.Join(common, "objects/pack"))
	return err
}

func hexadecimal(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// linked refuses symbolic links among the files that git reads before all others:
// each could show what isn't the repository's.
func linked(dir *os.Root, own, common string) error {
	refuse := func(name string) error {
		return paddock.Refused(paddock.RepositoryRefused, "%q in the repository is a symbolic link.", name)
	}
	isLink := func(name string) bool {
		st, err := dir.Lstat(name)
		return err == nil && st.Mode()&fs.ModeSymlink != 0
	}
	// A path is looked at from its beginning: the own directory may lie behind a link.
	for _, base := range []string{own, common} {
		for p := base; p != "." && p != "/"; p = path.Dir(p) {
			if isLink(p) {
				return refuse(p)
			}
		}
		for _, name := range strings.Fields("HEAD config config.worktree commondir index packed-refs shallow refs objects info info/attributes info/exclude info/grafts objects/info objects/pack logs reftable") {
			st, err := dir.Lstat(path.Join(base, name))
			switch {
			case err != nil || st.IsDir() || st.Mode().IsRegular():
			case name == "HEAD" && base == own && st.Mode()&fs.ModeSymlink != 0:
				return paddock.Refused(paddock.RepositoryRefused, "HEAD is a symbolic link, as very old versions of git made it; `git symbolic-ref HEAD` shows what it should say.")
			default: // a link could lead anywhere, and git would wait for a pipe
				return paddock.Refused(paddock.RepositoryRefused, "%q in the repository is neither a file nor a directory.", path.Join(base, name))
			}
		}
	}
	for _, parent := range []string{"objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/tags", "refs/remotes"} {
		entries, err := list(dir, path.Join(common, parent))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink != 0 {
				return refuse(path.Join(common, parent, e.Name()))
			}
		}
	}
	return nil
}

func promised(dir *os.Root, pack string) (bool, error) {
	entries, err := list(dir, pack)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".promisor") {
			return true, err
		}
	}
	return false, err
}

// list returns the entries of a directory; none if it isn't there.
func list(dir *os.Root, name string) (_ []fs.DirEntry, err error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, absent(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.ReadDir(-1)
}

// read returns the text of a small file, without the line break at its end.
func read(dir *os.Root, name string) (_ string, err error) {
	st, err := dir.Lstat(name)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() { // a pipe would keep us waiting
		return "", paddock.Refused(paddock.RepositoryRefused, "%q in the repository isn't a regular file.", name)
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it could be a pipe by now
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(io.LimitReader(f, mostText))
	return strings.TrimRight(string(text), "\r\n"), err
}

// Path refuses a path, relative to the root, that a link leads out of it.
func (l Look) Path(name string) error {
	dir, err := os.OpenRoot(l.Root)
	if err != nil {
		return err
	}
	defer dir.Close()
	// What the name itself leads to doesn't matter: git takes a link for one.
	_, err = dir.Lstat(name)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil // git says so of what isn't there now: it may have been
	}
	if strings.Contains(err.Error(), "escapes") {
		return paddock.Refused(paddock.PathOutsideRoot, "The path %q lies behind a link that leads outside of the root.", name)
	}
	return nil // a name that can't be a file's here, or a part that is no directory
}

// Directories refuses directories, relative to the root, one of which a link leads
// out of it: git looks at files behind such links as if they were its own.
func (l Look) Directories(names []string) error {
	dir, err := os.OpenRoot(l.Root)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, name := range names {
		if _, err := dir.Stat(name); err != nil && strings.Contains(err.Error(), "escapes") {
			r := paddock.Refused(paddock.PathOutsideRoot, "In the working tree %q leads outside of the root, and git tracks files there.", name)
			r.Hint = "Search a revision, as HEAD, or a path without it."
			return r
		}
	}
	return nil
}
