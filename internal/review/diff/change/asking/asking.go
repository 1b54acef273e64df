// Package asking compares rules in CEL by their text.
//
// # Limits
//
// What a rule is true of isn't followed: where one is gone or says something else, what
// is allowed by that can't be told.
package asking

import (
	"paddock/internal/policy/compiled/document"
	"paddock/internal/review/diff/change"
)

// which of the rules with an expression are compared.
type which struct {
	expression  string
	ask, factor bool
}

// Rules compares the rules of two policies.
func Rules(before, after []document.Rule) (out change.Changes) {
	was, is := all(before), all(after)
	add := func(e change.Effect, r document.Rule, message string) {
		out = append(out, change.Change{Effect: e, At: "rules." + r.Name.Value, Position: r.Expression.At, Message: message})
	}
	for _, r := range before {
		same := func(ask, factor bool) bool { return is[which{r.Expression.Value, ask, factor}] }
		switch {
		case same(r.Ask, r.SecondFactor):
		case r.Ask && same(false, false):
			add(change.Narrowed, r, "What needed a person's approval is denied.")
		case r.Ask && same(true, true):
			add(change.Narrowed, r, "Who approves must have shown a second factor.")
		case r.Ask && same(true, false):
			add(change.Widened, r, "Who approves need not have shown a second factor.")
		case same(true, true), same(true, false):
			add(change.Unclear, r, "What was denied can be approved by a person.")
		default:
			add(change.Unclear, r, "The rule is gone or says something else; what only it refused is allowed now, and what that is can't be told.")
		}
	}
	for _, r := range after {
		known := func(ask, factor bool) bool { return was[which{r.Expression.Value, ask, factor}] }
		if !known(false, false) && !known(true, false) && !known(true, true) {
			add(change.Narrowed, r, "A rule is new; it refuses what it describes.")
		}
	}
	return out
}

func all(rules []document.Rule) map[which]bool {
	out := map[which]bool{}
	for _, r := range rules {
		out[which{r.Expression.Value, r.Ask, r.SecondFactor}] = true
	}
	return out
}
