// Package fault is what is wrong with a policy, as people and programs are told.
//
// # Limits
//
// It finds nothing wrong by itself.
package fault

import (
	"fmt"
	"strings"

	"paddock"
)

// An Error is one fault of a policy file.
type Error struct {
	Position paddock.Position `json:"position"`
	Message  string           `json:"message"`
}

// Errors is everything wrong with one policy file, in the order of the file.
type Errors struct {
	List []Error `json:"errors"`
}

// Error returns one line per fault, each as file:line:column: message.
func (e *Errors) Error() string {
	var b strings.Builder
	for i, one := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s", one.Position.File, one.Position.Line, one.Position.Column, one.Message)
	}
	return b.String()
}

// A Test is a command and what the policy must say of it.
type Test struct {
	Position paddock.Position
	Argv     []string
	// Dir is where the command would run; empty means the first root.
	Dir string
	// Refuse is set when the command must be refused, with Code if that is set.
	Refuse bool
	Code   paddock.Code
}

// Problem says how d differs from what the test demands; "" means not at all.
func (t Test) Problem(d paddock.Decision) string {
	r := d.Refusal()
	switch {
	case !t.Refuse && r != nil:
		return fmt.Sprintf("want it allowed, but it is refused: %v", r)
	case t.Refuse && r == nil:
		return "want it refused, but it is allowed"
	case t.Refuse && t.Code != "" && r.Code != t.Code:
		return fmt.Sprintf("want it refused with %s, but it is refused with %v", t.Code, r)
	}
	return ""
}
