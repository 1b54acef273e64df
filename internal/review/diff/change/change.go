// Package change is what a comparison of policies says.
//
// # Limits
//
// It compares nothing.
package change

import (
	"slices"

	"paddock"
)

// An Effect is the sense of a change.
type Effect string

// The effects.
const (
	Widened  Effect = "widened"  // something is allowed that wasn't, or held less
	Unclear  Effect = "unclear"  // it can't be told that nothing is
	Narrowed Effect = "narrowed" // something is refused that wasn't, or held more
	Changed  Effect = "changed"  // neither
)

// A Change is one thing that differs.
type Change struct {
	Effect Effect `json:"effect"`
	// At is what it is about: executables.go, limits.timeout.
	At string `json:"at"`
	// Position is in the new file, or in the old one for what is gone.
	Position paddock.Position `json:"position"`
	Message  string           `json:"message"`
	// Example is a command that is judged otherwise now.
	Example []string `json:"example,omitempty"`
	// Outside are words of the example that lead outside of every root.
	Outside []string `json:"outside,omitempty"`
}

// Changes is all that differs between two policies.
type Changes []Change

// Wider reports whether something is allowed that wasn't, or may be.
func (c Changes) Wider() bool {
	return slices.ContainsFunc(c, func(one Change) bool { return one.Effect == Widened || one.Effect == Unclear })
}
