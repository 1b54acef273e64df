package lineage_test

import (
	"testing"

	"paddock"
	"paddock/internal/lineage"
	"paddock/internal/policy"
)

// While a change has errors what was said before holds; what was taken away doesn't.
func TestLast(t *testing.T) {
	t.Parallel()
	const good = "version: 1\nroots: [{path: /a}]\nexecutables: []\ncontainment: {require: off}\n"
	take := func(l *lineage.Last, path, text string, more ...policy.Source) (*policy.Policy, error) {
		p, err := policy.Load(path, []byte(text), more...)
		if err != nil {
			return l.Take(path, []byte(text), more, nil, paddock.Refused(paddock.PolicyInvalid, "%v", err))
		}
		return l.Take(path, []byte(text), more, p, nil)
	}
	var l lineage.Last
	if p, problem := take(&l, "p", "broken"); p != nil || problem == nil || l.Trouble() != nil {
		t.Errorf("nothing was before: %v, %v", p, problem)
	}
	first, _ := take(&l, "p", good)
	if p, problem := take(&l, "p", good+"x: 1\n"); p != first || problem != nil || l.Trouble() == nil || l.Trouble().InForce != first.Digest() || l.Trouble().Problem == nil {
		t.Errorf("the policy before doesn't hold: %v, %v", p, problem)
	}
	second, _ := take(&l, "p", good+"limits: {timeout: 1m}\n")
	if second == first || l.Trouble() != nil {
		t.Error("the good change doesn't count")
	}
	if p, problem := take(&l, "q", "broken"); p != nil || problem == nil {
		t.Errorf("another file's policy holds: %v", p)
	}
	if p, problem := take(&l, "p", "broken"); p != nil || problem == nil {
		t.Errorf("it holds after another was asked for: %v", p)
	}
	take(&l, "p", good)
	unreadable := policy.Source{Name: "/f", Floor: true, Problem: "others can write to it"}
	if p, problem := take(&l, "p", good, unreadable); p != nil || problem == nil {
		t.Errorf("it holds though its floor can't be believed: %v", p)
	}
	take(&l, "p", good)
	if l.Forget(); l.Trouble() != nil {
		t.Error("trouble with what was forgotten")
	}
	if p, problem := take(&l, "p", "broken"); p != nil || problem == nil {
		t.Errorf("it holds after it was taken away: %v", p)
	}
}
