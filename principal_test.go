package paddock_test

import (
	"strings"
	"testing"

	"paddock"
)

// A delegate's principal says for whom it works, at each level, and what only looks
// like one is nobody's.
func TestPrincipalOfADelegate(t *testing.T) {
	t.Parallel()
	person := paddock.Principal{Kind: paddock.Operator, ID: "uid=1000"}
	first := person.Delegate("reviewer", "d1")
	second := first.Delegate("helper", "d2")
	if first.Kind != paddock.Agent || second.Kind != paddock.Agent || first == second || first.Named() || !person.Named() {
		t.Errorf("%+v, %+v", first, second)
	}
	if above, provider, ok := second.Above(); above != first || provider != "helper" || !ok {
		t.Errorf("%+v %s %v", above, provider, ok)
	}
	if above, provider, ok := first.Above(); above != person || provider != "reviewer" || !ok {
		t.Errorf("%+v %s %v", above, provider, ok)
	}
	if second.Root() != person || first.Root() != person || person.Root() != person {
		t.Error("the root is another")
	}
	for id, want := range map[string]bool{second.ID: true, first.ID: true, person.ID: true, "": false, "uid=100": false, "helper": false} {
		if second.Answers(id) != want {
			t.Errorf("that %q asks is %v", id, !want)
		}
	}
	if person.Answers(first.ID) {
		t.Error("a person works for his delegate")
	}
	for _, id := range []string{"", "x", " > ", "a > b", "a > agent", "a > agent/x", "a > agent//d", "a > agent/x/", "a > root/x/d", "a > agent/x/d/e", strings.Repeat(" > ", 100)} {
		p := paddock.Principal{Kind: paddock.Agent, ID: id}
		if _, _, ok := p.Above(); ok || p.Root() != p {
			t.Errorf("%q works for somebody", id)
		}
	}
	if _, _, ok := (paddock.Principal{Kind: paddock.Operator, ID: first.ID}).Above(); ok {
		t.Error("an operator works for somebody")
	}
}
