// Package inside says what lies in which directory, with links followed.
//
// # Limits
//
// It tells how things lie now. Nothing is held open, and somebody may move it.
package inside

import (
	"path/filepath"
	"strings"
)

// Holds reports whether inner is outer or below it, with links followed.
func Holds(outer, inner string) bool {
	outer, inner = resolved(outer), resolved(inner)
	return inner == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}

// resolved follows links as far as there is something to follow.
func resolved(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
