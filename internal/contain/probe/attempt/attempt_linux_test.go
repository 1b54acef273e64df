package attempt

import (
	"slices"
	"testing"
)

// The list and what can be attempted are the same.
func TestEveryAttemptHasADeed(t *testing.T) {
	t.Parallel()
	all := deeds()
	for _, a := range List {
		if (all[a.Name] == nil) != a.Rough {
			t.Errorf("%s: rough is %t", a.Name, a.Rough)
		}
	}
	for name := range all {
		if !slices.ContainsFunc(List, func(a Attempt) bool { return a.Name == name }) {
			t.Errorf("%s isn't in the list", name)
		}
	}
}
