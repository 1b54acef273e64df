// Package asked is what an executable's argument rules are, all layers of a policy
// together: as lists that can be compared, and as they are written.
//
// # Limits
//
// It compares nothing.
package asked

import (
	"strings"

	"paddock"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/pattern/language"
)

// Lists are those that must all allow.
func Lists(e *compiled.Executable) []language.List {
	var all []language.List
	for _, layer := range e.Asked() {
		var l language.List
		if layer.Any {
			l = language.List{{}}
		} else {
			for _, r := range layer.Rules() {
				l = append(l, language.Rule{Pattern: r.Rule, Deny: r.Deny})
			}
		}
		all = append(all, l)
	}
	return all
}

// Allowed reports whether all of the lists from one up to another allow what was
// found.
func Allowed(space *language.Space, f language.Found, from, to int) bool {
	for i := from; i < to; i++ {
		if !space.Allowed(f, i) {
			return false
		}
	}
	return true
}

// Said is how the rules of e are written.
func Said(e *compiled.Executable) []string {
	var out []string
	for i, layer := range e.Asked() {
		if i > 0 {
			out = append(out, "and")
		}
		if layer.Any {
			out = append(out, "any")
		}
		for _, r := range layer.Rules() {
			effect := "allow "
			if r.Deny {
				effect = "deny "
			}
			out = append(out, effect+strings.TrimPrefix(strings.Trim(r.Form, "`"), layer.Word()))
		}
	}
	return out
}

// At is the place of a rule of the policy's own; -1 is all of them.
func At(e *compiled.Executable, i int) paddock.Position {
	own := e.Asked()[0]
	if rules := own.Rules(); i >= 0 && i < len(rules) {
		return rules[i].At
	}
	return own.ArgsAt
}
