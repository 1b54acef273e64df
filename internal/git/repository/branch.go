package repository

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// plain is how names of branches are that can stand for nothing else by their form: no
// id, in full or in short, no operator, no place in a log of references.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*$`) })

// Named returns the id that ref stands for, which is one in full, HEAD or the name of a
// branch; empty where that isn't easily told, and git is to be asked: it looks for a name in several places, and
// only one that is a branch's and nothing else is read here. What comes back is an id by
// its form and nothing else, as of HEAD.
func (l Look) Named(ref string) string {
	switch {
	case hexadecimal(ref):
		return ref
	case ref == "HEAD":
		return l.Head
	}
	if len(ref) > 200 || !plain().MatchString(ref) || strings.Trim(ref, "0123456789abcdef") == "" || strings.HasSuffix(ref, ".lock") || strings.Contains(ref, ".lock/") {
		return ""
	}
	dir, err := os.OpenRoot(l.Top)
	if err != nil {
		return ""
	}
	defer dir.Close()
	// Where git looks before it looks among branches, and where references would be
	// that aren't files.
	for _, other := range []string{
		path.Join(l.common, "reftable"), path.Join(l.own, ref), path.Join(l.common, ref),
		path.Join(l.own, "refs", ref), path.Join(l.common, "refs", ref), path.Join(l.common, "refs/tags", ref),
	} {
		if _, err := dir.Lstat(other); !nowhere(err) {
			return ""
		}
	}
	names, whole := packed(dir, path.Join(l.common, "packed-refs"), "refs/"+ref, "refs/tags/"+ref, "refs/heads/"+ref)
	if !whole || names["refs/"+ref] != "" || names["refs/tags/"+ref] != "" {
		return ""
	}
	id, err := read(dir, path.Join(l.common, "refs/heads", ref))
	switch {
	case err == nil && hexadecimal(id):
		return id
	case nowhere(err):
		return names["refs/heads/"+ref]
	}
	return ""
}

// nowhere reports whether err says that there is no such file, nor a directory for one.
func nowhere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// packed returns what the file called name says of some references, and whether all
// of it was read.
func packed(dir *os.Root, name string, refs ...string) (ids map[string]string, whole bool) {
	st, err := dir.Lstat(name)
	if nowhere(err) {
		return nil, true
	}
	if err != nil || !st.Mode().IsRegular() || st.Size() > mostPacked {
		return nil, false
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it could be a pipe by now
	if err != nil {
		return nil, false
	}
	defer f.Close()
	ids = map[string]string{}
	lines := bufio.NewScanner(io.LimitReader(f, mostPacked))
	for lines.Scan() {
		id, named, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			continue
		}
		for _, ref := range refs {
			if named == ref {
				ids[ref] = id
				if !hexadecimal(id) {
					return nil, false
				}
			}
		}
	}
	return ids, lines.Err() == nil
}
