//go:build !race

package policy_test

import (
	"testing"

	"paddock/internal/policy"
)

// What a decision leaves to the collector is the decision itself. The numbers are
// what it takes today: whoever raises one says why. The race
// detector drops what is kept to be used again; `make decided` runs without it.
func TestDecideMakesLittleGarbage(t *testing.T) {
	const rule = "rules: [{name: a, deny: 'argv.exists(a, a == \"--forbidden\")'}]\n"
	for _, c := range []struct {
		name, text string
		argv       []string
		most       float64
	}{
		{"allowed", large(""), []string{"go", "test", "-run", "TestX", "-count=1", "./..."}, 10},
		{"refused", large(""), []string{"go", "test", "-exec", "sh"}, 12},
		{"a rule", large(rule), []string{"go", "test", "./..."}, 32},
	} {
		p := load(t, c.text)
		req := ask(c.argv...)
		facts := friendly(p, req)
		if got := testing.AllocsPerRun(1000, func() { policy.Decide(p, req, facts) }); got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.most)
		}
	}
}
