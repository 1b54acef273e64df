// Package expression compiles regular expressions when they are first needed.
// Reading one policy meets few of them, and to compile all takes longer than to
// read it.
//
// # Limits
//
// One that can't be compiled panics when it is first used and not before: the
// published schema has them all, and its tests compile it.
package expression

import (
	"regexp"
	"sync"
)

// An Expression is an RE2 expression.
type Expression struct {
	source   string
	compiled func() *regexp.Regexp
}

// New returns the expression that source says.
func New(source string) *Expression {
	return &Expression{source, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
}

// MatchString reports whether s matches.
func (e *Expression) MatchString(s string) bool { return e.compiled().MatchString(s) }

// String returns what it was made of.
func (e *Expression) String() string { return e.source }
