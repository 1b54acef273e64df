// Package change says, of two states of a tree of files, what became of what.
//
// A state is a list of entries, as they were seen. A tree that lies over another
// as an upper layer and a tree that was copied are compared by different means,
// and both give the same: for each path what was there and what is there now.
//
// # Limits
//
// The package sees no file. Entries that differ in nothing but their content
// can't be told apart here, so a file of an upper layer counts as changed; who
// can read both says whether it really is.
package change

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Types of entries, as in the mode that stat gives.
const (
	typeMask  = 0o170000
	directory = 0o040000
	regular   = 0o100000
	link      = 0o120000
	character = 0o020000
	bits      = 0o7777
	setGroup  = 0o2000
)

// An Entry is one file, directory or other thing below a root, as it was seen.
type Entry struct {
	// Path is relative to the root, with slashes, and clean.
	Path     string
	Mode     uint32 // type and permissions
	UID, GID uint32
	Size     int64
	// Mtime and Ctime are nanoseconds since 1970.
	Mtime, Ctime int64
	Ino          uint64
	// Target is where a symbolic link points to.
	Target string
	// Void and Opaque are of an upper layer only: what the layer below has at
	// this path is gone, or what it has below this directory.
	Void, Opaque bool
}

// Directory, Regular and Link say what an entry is. All else is special.
func (e Entry) Directory() bool { return e.Mode&typeMask == directory }
func (e Entry) Regular() bool   { return e.Mode&typeMask == regular }
func (e Entry) Link() bool      { return e.Mode&typeMask == link }
func (e Entry) Special() bool   { return !e.Directory() && !e.Regular() && !e.Link() }

// Perm returns the permissions, with the bits for set ids and the sticky one.
func (e Entry) Perm() uint32 { return e.Mode & bits }

// Untouched reports whether e is what was seen before as old: nothing has
// happened to it. Of a directory that holds whatever became of what is in it.
func (e Entry) Untouched(old Entry) bool {
	if e.Directory() && old.Directory() {
		return e.Perm() == old.Perm() && e.UID == old.UID && e.GID == old.GID
	}
	return e == old
}

// differs reports whether after can't be the same as before as far as can be
// told without content: for two files it can't.
func differs(before, after Entry) bool {
	switch {
	case before.Mode&typeMask != after.Mode&typeMask:
		return true
	case before.Link():
		return before.Target != after.Target
	case before.Directory():
		// A new directory gets this bit from the one that it is in.
		return (before.Perm()^after.Perm())&^setGroup != 0
	}
	return true
}

// A Change is what happened at one path: Before is nil for what is new, After
// for what is gone.
type Change struct{ Before, After *Entry }

// Path returns where it happened.
func (c Change) Path() string {
	if c.After != nil {
		return c.After.Path
	}
	return c.Before.Path
}

// Compare orders paths so that what is in a directory follows it at once.
func Compare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' || b[i] == '/' {
			return cmp.Compare(b2i(a[i] != '/'), b2i(b[i] != '/'))
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Sort puts entries in the order of Compare.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return Compare(a.Path, b.Path) })
}

// Index finds entries by their path.
func Index(entries []Entry) map[string]Entry {
	m := make(map[string]Entry, len(entries))
	for _, e := range entries {
		m[e.Path] = e
	}
	return m
}

// Over returns what changes when layer lies over base, in the order of Compare.
func Over(base, layer []Entry) []Change {
	upper := Index(layer)
	before := Index(base)
	var changes []Change
	for _, b := range base {
		u, covered := upper[b.Path]
		switch {
		case covered && !u.Void:
			if differs(b, u) {
				changes = append(changes, Change{&b, &u})
			}
		case covered || hidden(b.Path, upper):
			changes = append(changes, Change{Before: &b})
		}
	}
	for _, u := range layer {
		if _, was := before[u.Path]; !was && !u.Void {
			changes = append(changes, Change{After: &u})
		}
	}
	sort(changes)
	return changes
}

// hidden reports whether the layer has something above p that hides what the
// base has there.
func hidden(p string, upper map[string]Entry) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if u, ok := upper[dir]; ok && (u.Void || u.Opaque || !u.Directory()) {
			return true
		}
	}
	return false
}

// Between returns what happened to a copy of base between two looks at it.
func Between(base, start, end []Entry) []Change {
	before, was, is := Index(base), Index(start), Index(end)
	var changes []Change
	add := func(c Change) {
		if b, ok := before[c.Path()]; ok {
			c.Before = &b
		} else {
			c.Before = nil
		}
		if c.Before != nil || c.After != nil {
			changes = append(changes, c)
		}
	}
	for _, s := range start {
		if _, there := is[s.Path]; !there {
			add(Change{Before: &s})
		}
	}
	for _, e := range end {
		if s, ok := was[e.Path]; !ok || !e.Untouched(s) && differs(s, e) {
			add(Change{After: &e})
		}
	}
	sort(changes)
	return changes
}

func sort(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int { return Compare(a.Path(), b.Path()) })
}

// Below reports whether p is dir or lies below it; everything is below ".".
func Below(dir, p string) bool {
	return dir == "." || p == dir || strings.HasPrefix(p, dir+"/")
}

// Select returns the changes at names and below them, with those above that
// they need: a file in a new directory needs the directory. missing are the
// names where nothing has changed.
func Select(changes []Change, names []string) (chosen []Change, missing []string) {
	need := map[string]bool{}
	for _, name := range names {
		found := false
		for _, c := range changes {
			if !Below(name, c.Path()) {
				continue
			}
			found, need[c.Path()] = true, true
			if c.After == nil {
				continue
			}
			for dir := path.Dir(c.Path()); dir != "."; dir = path.Dir(dir) {
				need[dir] = true
			}
		}
		if !found {
			missing = append(missing, name)
		}
	}
	for _, c := range changes {
		p := c.Path()
		made := c.After != nil && c.After.Directory() && (c.Before == nil || !c.Before.Directory())
		if need[p] && (made || slices.ContainsFunc(names, func(n string) bool { return Below(n, p) })) {
			chosen = append(chosen, c)
		}
	}
	return chosen, missing
}
