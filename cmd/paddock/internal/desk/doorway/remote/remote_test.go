package remote

import (
	"maps"
	"slices"
	"testing"

	"paddock/internal/auth"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// Every tool wants a verb that a token can have, and no lesser role than who may do the
// same elsewhere gets one that starts or changes something.
func TestWants(t *testing.T) {
	t.Parallel()
	want, got := slices.Sorted(slices.Values(table.Tools)), slices.Sorted(maps.Keys(wants()))
	if !slices.Equal(want, got) {
		t.Errorf("there are %q, and verbs for %q", want, got)
	}
	for name, verb := range wants() {
		if !slices.Contains(auth.Verbs(), verb) || !verb.Delegable() {
			t.Errorf("%s wants %s, which no token can have", name, verb)
		}
	}
	of := func(r auth.Role) []string {
		return tools(func(v auth.Verb) bool { return auth.Reaches(r, v) != auth.Nothing })
	}
	if got, want := of(auth.Viewer), []string{"collect_results", "command_list", "command_output", "command_status", "retrieve_context", "tasks_list"}; !slices.Equal(got, want) {
		t.Errorf("a viewer has %q", got)
	}
	if got := of(auth.Operator); !slices.Equal(got, want) {
		t.Errorf("an operator has %q", got)
	}
	if got := of("nobody"); got == nil || len(got) != 0 {
		t.Errorf("nobody has %#v; nil would be all", got)
	}
}
