package present

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// An Object is what a revision has at a path.
type Object struct {
	Path string `json:"path"`
	Raw  string `json:"raw,omitzero" jsonschema:"the bytes of path, base64, where they aren't UTF-8"`
	Kind string `json:"kind" jsonschema:"file, executable, symlink, submodule or directory"`
	Mode string `json:"mode"`
	ID   string `json:"id"`
	// Size is -1 where the object isn't here.
	Size int64 `json:"size" jsonschema:"in bytes; -1 where the object itself isn't here"`
}

// kindOf has, by their modes, the types of git's objects and what they are.
var kindOf = map[string]string{
	"040000": "tree directory", "160000": "commit submodule", "120000": "blob symlink", "100755": "blob executable",
	"100644": "blob file", "100664": "blob file", // as very old versions of git wrote
}

// entry is one of a tree; what its size is isn't known yet.
func entry(mode, id string) (o Object, ok bool) {
	kind, is, ok := strings.Cut(kindOf[mode], " ")
	if o = (Object{Kind: is, Mode: mode, ID: id}); kind == "blob" {
		o.Size = -1
	}
	return o, ok
}

// Objects reads what ls-tree -z prints, with --long or without, which tells no size.
func Objects(out []byte) (objects []Object, err error) {
	r := reading(out)
	for !r.Done() {
		head, err := r.Until('\t')
		if err != nil {
			return nil, err
		}
		name, err := r.Until(0)
		if err != nil {
			return nil, err
		}
		words := strings.Fields(string(head))
		if len(words) == 3 {
			words = append(words, "BAD")
		}
		if len(words) != 4 || !hexadecimal(words[2]) {
			return nil, r.Bad("an entry of a tree")
		}
		o, ok := entry(words[0], words[2])
		if kind, _, _ := strings.Cut(kindOf[words[0]], " "); !ok || words[1] != kind {
			return nil, r.Bad("the kind of an entry")
		}
		if words[1] == "blob" && words[3] != "BAD" {
			if o.Size, err = strconv.ParseInt(words[3], 10, 64); err != nil || o.Size < 0 {
				return nil, r.Bad("a size")
			}
		}
		o.Path, o.Raw = text(name)
		objects = append(objects, o)
	}
	return objects, nil
}

// A Batch is what one process told of a path at a revision.
type Batch struct {
	// Commit is what the revision names, Object what is there; nil for nothing.
	Commit string
	Object *Object
	// At is the byte of the output where the content begins, Lines how many lines end
	// before that.
	At, Lines int64
}

var answered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64}) (commit|tree|blob|tag) (0|[1-9][0-9]{0,17})$`)
})

// ReadBatch reads what cat-file --batch-command answers to the four questions of
// [query.Cat] about name. Whatever isn't as it is where all goes well is told by an
// error: a revision or a directory that isn't there, an object that lacks, a branch that
// moved, or an output of which there isn't enough here.
func ReadBatch(out []byte, name string) (b Batch, err error) {
	r := reading(out)
	commit, err := r.info("commit")
	if err != nil {
		return b, err
	}
	dir, err := r.info("tree")
	if err != nil {
		return b, err
	}
	if int64(len(r.Rest())) <= dir.Size {
		return b, r.Bad("a tree without end")
	}
	tree := r.Rest()[:dir.Size]
	if r.At += len(tree); !r.Skip("\n") {
		return b, r.Bad("the end of a tree")
	}
	again, err := r.info("commit")
	if err == nil && again.ID != commit.ID {
		err = r.Bad("another commit")
	}
	if err != nil {
		return b, err
	}
	b.Commit = commit.ID
	if b.Object, err = within(tree, name[strings.LastIndexByte(name, '/')+1:], len(commit.ID)/2); err != nil {
		return b, err
	}
	if b.Object != nil {
		b.Object.Path, b.Object.Raw = text([]byte(name))
	}
	return b, r.file(&b)
}

// file reads how the content of b begins, where it has some.
func (r *reader) file(b *Batch) error {
	line, err := r.Line()
	lacks := bytes.HasSuffix(line, []byte(" missing"))
	switch o := b.Object; {
	case err != nil, o == nil && lacks, o != nil && (o.Size == 0 || lacks): // a directory's or a submodule's is of no use
		return err
	case o == nil:
		return r.Bad("a file that the tree doesn't have")
	}
	m := answered().FindSubmatch(line)
	if m == nil || string(m[1]) != b.Object.ID || string(m[2]) != "blob" {
		return r.Bad("the file that the tree has")
	}
	b.Object.Size, err = strconv.ParseInt(string(m[3]), 10, 64)
	b.At, b.Lines = int64(r.At), int64(bytes.Count(r.All[:r.At], []byte{'\n'}))
	return err
}

// info reads a line about an object that must be of a type.
func (r *reader) info(kind string) (o Object, err error) {
	line, err := r.Line()
	if err != nil {
		return o, err
	}
	m := answered().FindSubmatch(line)
	if m == nil || string(m[2]) != kind {
		return o, r.Bad("a " + kind)
	}
	o.ID = string(m[1])
	o.Size, err = strconv.ParseInt(string(m[3]), 10, 64)
	return o, err
}

// within finds a name among the entries of a tree, whose ids have so many bytes.
func within(tree []byte, name string, size int) (*Object, error) {
	r := reading(tree)
	for !r.Done() {
		mode, err := r.Until(' ')
		if err != nil {
			return nil, err
		}
		called, err := r.Until(0)
		if err != nil {
			return nil, err
		}
		if len(r.Rest()) < size {
			return nil, r.Bad("an id")
		}
		id := r.Rest()[:size]
		if r.At += size; string(called) != name {
			continue
		}
		if o, ok := entry(strings.Repeat("0", max(0, 6-len(mode)))+string(mode), hex.EncodeToString(id)); ok {
			return &o, nil
		}
		return nil, r.Bad("the kind of an entry")
	}
	return nil, nil //nolint:nilnil // there is nothing of that name, which is an answer
}
