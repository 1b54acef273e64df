package shape

import (
	"regexp"
	"sync"
)

// A Pattern is an expression that is compiled when a text is first held to it.
// Reading one policy meets few of them, and to compile all takes longer than to
// read it.
type Pattern struct {
	source   string
	compiled func() *regexp.Regexp
}

// Match returns the pattern of an RE2 expression. One that can't be compiled
// panics when it is first used.
func Match(source string) *Pattern {
	return &Pattern{source, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
}

// MatchString reports whether s matches.
func (p *Pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

// String returns the expression.
func (p *Pattern) String() string { return p.source }
