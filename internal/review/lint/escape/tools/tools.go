// Package tools knows programs that can do more than their name says: start other
// programs, read what to do from standard input, write where they are told.
//
// # Limits
//
// It is a table of facts about tools as they are distributed, each row with where
// the facts can be read. What isn't in it isn't harmless, only unknown; and a tool
// that runs what the workspace says (a build, a test runner) does that whatever its
// arguments are, which is for containment and not for this table.
package tools

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// A Tool is one program, or several that are alike.
type Tool struct {
	// Names are base names; a version after one is passed over: python3.12, gcc-13.
	Names []string
	// Kind says what it is: a shell, an archiver.
	Kind string
	Ways []Way
	// Source says where the facts of this row can be read.
	Source string
}

// A Way is one by which a tool gets out of what it was permitted for.
type Way struct {
	// First is an expression that the first word must match; "" is any.
	First string
	// Word is an expression that a word matches which opens the way, the first
	// included; Second bounds that to the second word. "" is First alone.
	Word   string
	Second bool
	// Free wants that word to be one that the caller chooses and the policy doesn't
	// spell out.
	Free bool
	// Bare is a command without any words.
	Bare bool
	// Does says what happens, after "it".
	Does string
}

// Chosen reports whether the way is a word of the caller's choice rather than a
// word of the tool's own.
func (w Way) Chosen() bool { return w.Free }

const (
	anything = `(?s).*`
	stdin    = "reads a program from standard input"
	program  = "starts the program that its words name"
	script   = "runs the script that the word names"
)

var byName = sync.OnceValue(func() map[string]*Tool {
	m := map[string]*Tool{}
	for i := range table {
		for _, n := range table[i].Names {
			m[n] = &table[i]
		}
	}
	return m
})

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?[A-Za-z+])-?[0-9][0-9.]*$`) })

// Find returns what is known of the program at a path; nil if nothing is.
func Find(file string) *Tool {
	name := strings.ToLower(path.Base(file))
	if t := byName()[name]; t != nil {
		return t
	}
	if m := version().FindStringSubmatch(name); m != nil {
		return byName()[m[1]]
	}
	return nil
}

// All returns the table.
func All() []Tool { return table }
