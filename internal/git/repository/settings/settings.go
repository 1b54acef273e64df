// Package settings finds in the text of a repository's settings what git would, or says that it can't tell.
//
// # Limits
//
// It doesn't read settings as git does, which would be a second implementation before hostile input: it looks
// for words without which git would find nothing, and for what git itself writes.
package settings

import (
	"bytes"
	"regexp"
	"sync"
)

// heading is how the settings of a filter or a hook begin, as git itself writes it, with a
// name in which nothing is escaped. The section's word is followed by one space, and its end is there.
var heading = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A\[(filter|hook) "([A-Za-z0-9_-]{1,100})"\]`)
})

// lengthened is how git writes that ids are of SHA-256.
var lengthened = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\[extensions\]\n(\t[A-Za-z]+ = [A-Za-z0-9]*\n)*\tobject[fF]ormat = sha256$`)
})

// Drivers adds the filters and hooks that one file names, as "filter.lfs" and "hook.x". Git takes
// for a section only what follows a bracket, so where no bracket is followed by a word
// there is none, whatever else stands there; and settings of other files are read only
// where an `include` is followed likewise. A name too many does no harm: it is set to nothing.
func Drivers(names []string, text []byte) ([]string, bool) {
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

func begins(rest []byte, word string) bool {
	return len(rest) >= len(word) && bytes.EqualFold(rest[:len(word)], []byte(word))
}

// Includes reports whether settings of other files can be brought along by text: false is said only where none are.
func Includes(text []byte) bool {
	for at, c := range text {
		if c == '[' && begins(text[at:], "[include") {
			return true
		}
	}
	return false
}

// IDs returns how many digits ids have by the settings in text; zero where that isn't said as git writes it.
func IDs(text []byte) int {
	continued := bytes.Contains(text, []byte("\\\n")) || bytes.Contains(text, []byte("\\\r")) // what stands there needn't be a section
	switch said := bytes.Count(bytes.ToLower(text), []byte("objectformat")); {
	case said == 0:
		return 40
	case said == 1 && !continued && lengthened().Match(text):
		return 64
	}
	return 0
}

// Ordinary reports whether no setting in text can be one by which an index is read in another way: those
// of extensions, where ids have another length, or what other files say.
func Ordinary(text []byte) bool {
	lower := bytes.ToLower(text)
	return !bytes.Contains(lower, []byte("[extensions")) && !bytes.Contains(lower, []byte("[include"))
}
