// Package look finds the places of a tree that other tools would execute or obey,
// before a run and after it, and says what of them the run left.
//
// It opens every directory once, those near the top first, and looks at names:
// only what a name makes out for such a place is asked for its attributes. What is there before
// is remembered by inode, so that what was moved along with a directory isn't
// taken for new, and what only has the name of something earlier isn't taken for that.
//
// # Limits
//
// Content isn't read. Something that changed and changed back within one tick of
// the file system's clock, right before the run, is seen as it was; what was removed
// isn't told. Whoever else writes to the tree meanwhile isn't told from the run.
package look

import (
	"strings"
)

// A Judge says of the entry called name of a directory whether it is a place to
// look at, what the surroundings of its own entries are, and whether none of them
// can be one. At says what the directory's surroundings are: zero at the top.
type Judge func(at uint8, name string, dir bool) (match bool, inside uint8, leaf bool)

// An Eye is how a tree is looked at.
type Eye struct {
	Judge Judge
	// Ours says that a directory is a place that we hold ourselves: nobody made
	// it, but somebody may have put something into it.
	Ours func(path string, dir bool, written int64) bool
	// Except are paths at which, and below which, nothing is looked at.
	Except []string
	// Entries is the most that are looked at; Over reports that it takes too long.
	Entries int
	Over    func() bool
}

// A Mark is a place as it was seen.
type Mark struct {
	// Path is relative to the root; it may have any bytes.
	Path string `json:"-"`
	// Raw is Path where the mark is written down.
	Raw  []byte `json:"path"`
	Mode uint32 // type and permissions
	Ino  uint64
	// Born, Written and Ctime are nanoseconds since 1970; Born is zero where the
	// file system doesn't say.
	Born, Written, Ctime int64
	Size                 int64
}

const (
	typeMask  = 0o170000
	directory = 0o040000
)

// Directory reports whether the place is a directory.
func (m Mark) Directory() bool { return m.Mode&typeMask == directory }

// same reports whether m and old are one inode, as far as that can be known.
func (m Mark) same(old Mark) bool {
	return m.Ino == old.Ino && m.Born == old.Born && m.Mode&typeMask == old.Mode&typeMask
}

// untouched reports whether nothing has happened to what was old.
func (m Mark) untouched(old Mark) bool {
	return m.same(old) && m.Ctime == old.Ctime && m.Size == old.Size && m.Mode == old.Mode
}

// A Gap is a directory that wasn't looked into, or not to its end.
type Gap struct {
	Path string `json:"-"`
	Raw  []byte `json:"path"` // as that of a Mark
	Why  string `json:"why"`
}

// Seen is what a look saw.
type Seen struct {
	Marks  []Mark // those near the top first
	Gaps   []Gap
	Looked int // entries

	lent []lent
}

// lent is a directory that we gave ourselves the permission to look into.
type lent struct {
	path string
	ino  uint64
	mode uint32
}

// A Change is what became of a place.
type Change string

// The changes.
const (
	Appeared Change = "appeared" // it wasn't there before
	Changed  Change = "changed"  // it was, and is another or has another content
	Unknown  Change = "unknown"  // nobody looked there before
)

// A Find is a place that isn't as it was.
type Find struct {
	Mark
	Change Change
}

// A Before is what there was before.
type Before struct {
	paths  map[string]Mark
	inodes map[uint64]Mark
	gaps   map[string]bool
}

// Form gives what was seen the form in which it can be written down as JSON.
func (s Seen) Form() ([]Mark, []Gap) {
	for i := range s.Marks {
		s.Marks[i].Raw = []byte(s.Marks[i].Path)
	}
	for i := range s.Gaps {
		s.Gaps[i].Raw = []byte(s.Gaps[i].Path)
	}
	return s.Marks, s.Gaps
}

// Recall makes a Before of what was written down.
func Recall(marks []Mark, gaps []Gap) *Before {
	for i := range marks {
		marks[i].Path = string(marks[i].Raw)
	}
	for i := range gaps {
		gaps[i].Path = string(gaps[i].Raw)
	}
	return Remember(Seen{Marks: marks, Gaps: gaps})
}

// Remember makes a Before of what was seen.
func Remember(s Seen) *Before {
	b := &Before{paths: map[string]Mark{}, inodes: map[uint64]Mark{}, gaps: map[string]bool{}}
	for _, m := range s.Marks {
		b.paths[m.Path] = m
		if m.Born != 0 { // else a number may have been given to something new
			b.inodes[m.Ino] = m
		}
	}
	for _, g := range s.Gaps {
		b.gaps[g.Path] = true
	}
	return b
}

// known reports whether m is a directory that was there, at its path or at
// another, so that what is in it is to be looked at by itself.
func (b *Before) known(m Mark) bool {
	if old, ok := b.paths[m.Path]; ok && old.Directory() {
		return true
	}
	old, ok := b.inodes[m.Ino]
	return ok && m.same(old)
}

// Compare says what of s isn't as it was.
func (b *Before) Compare(s Seen) []Find {
	var finds []Find
	for _, m := range s.Marks {
		old, there := b.paths[m.Path]
		moved, was := b.inodes[m.Ino]
		switch {
		case m.Directory() && b.known(m), there && m.untouched(old), was && m.untouched(moved):
		case there, was && m.same(moved):
			finds = append(finds, Find{m, Changed})
		case b.unseen(m.Path):
			finds = append(finds, Find{m, Unknown})
		default:
			finds = append(finds, Find{m, Appeared})
		}
	}
	return finds
}

// unseen reports whether path lies where nobody looked.
func (b *Before) unseen(path string) bool {
	if len(b.gaps) == 0 {
		return false
	}
	for i := len(path); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if b.gaps[path[:i]] {
			return true
		}
	}
	return b.gaps["."]
}
