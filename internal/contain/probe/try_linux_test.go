package probe

import (
	"slices"
	"testing"

	"paddock/internal/contain/probe/attempt"
)

// The list and what can be attempted are the same.
func TestEveryAttemptHasADeed(t *testing.T) {
	t.Parallel()
	all := every()
	for _, a := range attempt.List {
		if (all[a.Name] == nil) != a.Rough {
			t.Errorf("%s: rough is %t", a.Name, a.Rough)
		}
	}
	for name := range all {
		if !slices.ContainsFunc(attempt.List, func(a attempt.Attempt) bool { return a.Name == name }) {
			t.Errorf("%s isn't in the list", name)
		}
	}
}
