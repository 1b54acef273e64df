package repository

import (
	"bufio"
	"cmp"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"paddock"
	"paddock/internal/git/repository/held"
)

// plain is how names of branches are that can stand for nothing else by their form: no
// id, in full or in short, no operator, no place in a log of references.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*$`) })

// Named returns the id that ref stands for, which is one in full, HEAD or the name of a
// tag or a branch; empty where that isn't easily told, and git is to be asked: it looks for a name in several places, and
// only one that is a tag's or else a branch's is read here. What comes back is an id by
// its form and nothing else, as of HEAD. Of a tag that is a file of its own it isn't known whether
// the id is that of a commit or of a tag's object: it is told where whole isn't asked for.
func (l Look) Named(ref string, whole bool) string {
	switch {
	case hexadecimal(ref):
		return l.id(ref)
	case ref == "HEAD" || ref == "@":
		return l.Head
	}
	return l.id(l.reference(ref, whole))
}

// reference is Named of what is no id, for ids of any length.
func (l Look) reference(ref string, whole bool) string {
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
		path.Join(l.own, "refs", ref), path.Join(l.common, "refs", ref),
	} {
		if _, err := dir.Lstat(other); !nowhere(err) {
			return ""
		}
	}
	tag, branch := "refs/tags/"+ref, "refs/heads/"+ref
	names, all := packed(dir, path.Join(l.common, "packed-refs"), "refs/"+ref, tag, branch)
	if !all || names["refs/"+ref] != "" {
		return ""
	}
	id, err := read(dir, path.Join(l.common, tag)) // which git takes before a branch
	switch {
	case err == nil && hexadecimal(id) && !whole:
		return id
	case !nowhere(err):
		return ""
	case names[tag] != "":
		return cmp.Or(names[tag+peeled], names[tag])
	}
	id, err = read(dir, path.Join(l.common, branch))
	switch {
	case err == nil && hexadecimal(id):
		return id
	case nowhere(err):
		return names[branch]
	}
	return ""
}

// peeled marks, behind the name of a tag, what the tag's object stands for.
const peeled = "^{}"

// nowhere reports whether err says that there is no such file, nor a directory for one.
func nowhere(err error) bool { return held.Nowhere(err) }

// packed returns what the file called name says of some references, and whether all
// of it was read and it is as git writes it since long: told of each tag is what its object
// stands for, if it has one.
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
	last, fully := "", false
	bounded := &io.LimitedReader{R: f, N: mostPacked + 1}
	lines := bufio.NewScanner(bounded)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "^"); ok && last != "" {
			if ids[last+peeled] = id; !hexadecimal(id) {
				return nil, false
			}
			continue
		}
		last = ""
		id, named, ok := strings.Cut(lines.Text(), " ")
		if id == "#" {
			fully = strings.Contains(named+" ", " fully-peeled ")
		}
		if !ok || !slices.Contains(refs, named) {
			continue
		}
		last, ids[named] = named, id
		if !hexadecimal(id) || !fully && strings.HasPrefix(named, "refs/tags/") {
			return nil, false
		}
	}
	return ids, lines.Err() == nil && bounded.N > 0
}

// Revisions refuses revisions that are, or whose logs are, where a link leads: whatever lies among
// git's own files can be called a reference.
func (l Look) Revisions(refs []string) error {
	dir, err := os.OpenRoot(l.Top)
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, ref := range refs {
		for _, name := range l.places(ref) {
			for _, base := range []string{l.own, l.common} {
				if st, err := dir.Lstat(path.Join(base, name)); leads(err) || err == nil && st.Mode()&fs.ModeSymlink != 0 {
					return paddock.Refused(paddock.RepositoryRefused, "The revision %q lies, or its log does, where a symbolic link in the repository leads.", ref)
				}
			}
		}
	}
	return nil
}

// places are where git looks for a reference beside the directories that are looked at whole, and for its log.
func (l Look) places(ref string) []string {
	name := ref
	if at := strings.IndexAny(ref, "~^@"); at >= 0 {
		name = ref[:at]
	}
	names := []string{name}
	if strings.Contains(ref, "@{") {
		names = append(names, "logs/refs/heads/"+l.Branch, "logs/refs/remotes/"+name+"/HEAD")
		for _, before := range []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"} {
			names = append(names, "logs/"+before+name)
		}
	}
	return names
}
