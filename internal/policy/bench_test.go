package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/internal/policy"
)

// large has 500 argument rules on one executable, of which the last allows,
// and as many executables beside it.
func large(rules string) string {
	var b strings.Builder
	b.WriteString("version: 1\nroots: [{path: /srv/checkout}]\nexecutables:\n  - name: go\n    path: /usr/local/go/bin/go\n    args:\n")
	for i := range 499 {
		fmt.Fprintf(&b, "      - {allow: [verb%d, <word>], flags: {-a: none, -b: <int>}, rest: <package>...}\n", i)
	}
	b.WriteString("      - {allow: [test], flags: {-run: <word>, -count: <int>, -v: none}, rest: <package>...}\n")
	for i := range 499 {
		fmt.Fprintf(&b, "  - {name: tool%d, path: /usr/bin/tool%d, args: any}\n", i, i)
	}
	b.WriteString("environment: {set: {A: 1}, pass: [LANG, TZ], accept: {CI: <word>}}\ncontainment: {require: off}\n" + rules)
	return b.String()
}

func benchmark(b *testing.B, text string, argv ...string) {
	p := load(b, text)
	req := ask(argv...)
	facts := friendly(p, req)
	took := make([]time.Duration, 0, 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		policy.Decide(p, req, facts)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

func BenchmarkDecideAllowed(b *testing.B) {
	benchmark(b, large(""), "go", "test", "-run", "TestX", "-count=1", "./...")
}

func BenchmarkDecideRefused(b *testing.B) { benchmark(b, large(""), "go", "test", "-exec", "sh") }

func BenchmarkDecideCEL(b *testing.B) {
	benchmark(b, large("rules: [{name: a, deny: 'argv.exists(a, a == \"--forbidden\")'}]\n"), "go", "test", "./...")
}

func BenchmarkLoad(b *testing.B) {
	text := []byte(large(""))
	for b.Loop() {
		if _, err := policy.Load("p.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}
