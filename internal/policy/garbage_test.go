//go:build !race

package policy_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"paddock"
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
		bytes      uint64 // which say how often the collector has to work
	}{
		{"allowed", large(""), []string{"go", "test", "-run", "TestX", "-count=1", "./..."}, 4, 384},
		{"refused", large(""), []string{"go", "test", "-exec", "sh"}, 8, 512},
		{"a rule", large(rule), []string{"go", "test", "./..."}, 10, 528},
	} {
		p := load(t, c.text)
		// No two in a row ask the same: what is kept of one isn't what makes the next cheap.
		var asked []paddock.Request
		for i := range 16 {
			argv := slices.Clone(c.argv)
			argv[len(argv)-1] += strings.Repeat("x", i)
			req := ask(argv...)
			req.Principal.ID = fmt.Sprintf("agent-%d", i)
			asked = append(asked, req)
		}
		facts, next := friendly(p, asked[0]), 0
		decide := func() {
			facts.Active = next % 7
			policy.Decide(p, asked[next%len(asked)], facts)
			next++
		}
		if got := testing.AllocsPerRun(1000, decide); got > c.most {
			t.Errorf("%s: %v allocations, want at most %v", c.name, got, c.most)
		}
		const times = 1000
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			decide()
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / times; got > c.bytes {
			t.Errorf("%s: %d bytes, want at most %d", c.name, got, c.bytes)
		}
	}
}
