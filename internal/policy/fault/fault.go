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
