package mcpserver

import (
	"slices"
	"testing"

	"paddock/internal/policy/compiled/document/shape/table"
)

// A policy can give delegates each tool that there is, and none besides.
func TestToolsThatPoliciesCanGive(t *testing.T) {
	t.Parallel()
	s := &session{Config: Config{Git: func() bool { return true }, Delegates: func() bool { return true }, Words: func() []string { return nil }}}
	var names []string
	for _, one := range slices.Concat(s.tools(), s.planTools(), s.delegateTools(), s.gitTools()) {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	given := slices.Sorted(slices.Values(table.Tools))
	if !slices.Equal(names, given) {
		t.Errorf("there are %q, and a policy can give %q", names, given)
	}
}
