package repository

import (
	"bytes"
	"os"
	"path"
	"regexp"
	"slices"
	"sync"
)

// heading is how the settings of a filter or a hook begin, as git itself writes it, with a
// name in which nothing is escaped. The section's word is followed by one space, and its end is there.
var heading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A\[(filter|hook) "([A-Za-z0-9_-]{1,100})"\]`)
})

// Drivers returns the filters and hooks that the repository's settings name, as
// "filter.lfs" and "hook.x", and whether that is easily told; where it isn't, git is to be asked. It doesn't read
// settings as git does, which would be a second implementation before hostile input: git takes
// for a section only what follows a bracket, so where no bracket is followed by a word
// there is none, whatever else stands there; and settings of other files are read only
// where an `include` is followed likewise. A name too many does no harm: it is set to nothing.
func (l Look) Drivers() (names []string, told bool) {
	dir, err := os.OpenRoot(l.Top)
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	for _, name := range []string{path.Join(l.common, "config"), path.Join(l.own, "config.worktree"), path.Join(l.common, "config.worktree")} {
		if st, err := dir.Lstat(name); nowhere(err) {
			continue
		} else if err != nil || st.Size() >= mostText { // read takes no more, and more could follow
			return nil, false
		}
		text, err := read(dir, name)
		if err != nil || len(text) >= mostText {
			return nil, false
		}
		if names, told = named(names, []byte(text)); !told {
			return nil, false
		}
	}
	slices.Sort(names)
	return slices.Compact(names), true
}

// named adds what one file names.
func named(names []string, text []byte) ([]string, bool) {
	begins := func(rest []byte, word string) bool {
		return len(rest) >= len(word) && bytes.EqualFold(rest[:len(word)], []byte(word))
	}
	for at, c := range text {
		switch rest := text[at:]; {
		case c != '[':
		case begins(rest, "[include"):
			return nil, false
		case begins(rest, "[filter"), begins(rest, "[hook"):
			m := heading().FindSubmatch(rest)
			if m == nil {
				return nil, false
			}
			names = append(names, string(m[1])+"."+string(m[2]))
		}
	}
	return names, true
}
