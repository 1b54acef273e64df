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

// A Look is one look at how things lie: each path is followed once. The zero Look has
// followed none. It is for one goroutine.
type Look struct{ followed map[string]string }

// Holds reports whether inner is outer or below it, with links followed.
func Holds(outer, inner string) bool { return new(Look).Holds(outer, inner) }

// Holds reports whether inner is outer or below it, with links followed.
func (l *Look) Holds(outer, inner string) bool {
	outer, inner = l.resolved(outer), l.resolved(inner)
	return inner == outer || strings.HasPrefix(inner, strings.TrimSuffix(outer, "/")+"/")
}

func (l *Look) resolved(path string) string {
	real, known := l.followed[path]
	if !known {
		real = resolved(path)
		if l.followed == nil {
			l.followed = map[string]string{}
		}
		l.followed[path] = real
	}
	return real
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
