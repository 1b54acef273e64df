package policy_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy"
)

// parts of a policy among which there is no first: no rule denies before another allows.
var (
	unorderedPrograms = []string{"name: go, path: /bin/go", "name: make, path: /bin/make", "path: /bin/ls"}
	unorderedArgs     = []string{"{allow: [test], flags: {-v: none, -n: <int>}, rest: <word>...}", "{allow: [vet, <word>]}", "{allow: [<word>]}", "{allow: ['{a,b}', '...']}", "{allow: [], flags: {-v: none}}"}
	unorderedRules    = []string{"{name: a, deny: '\"x\" in argv'}", "{name: b, ask: 'argv.size() > 2'}", "{name: c, deny: 'executable == \"make\" && stdin'}"}
	unorderedPass     = []string{"LANG", "TZ", "TERM"}
)

func unordered(programs, args, rules, pass []string) string {
	var b strings.Builder
	b.WriteString("version: 1\nroots: [{path: /srv/checkout}]\nexecutables:\n")
	for _, p := range programs {
		fmt.Fprintf(&b, "  - {%s, args: [%s]}\n", p, strings.Join(args, ", "))
	}
	fmt.Fprintf(&b, "rules: [%s]\nenvironment: {pass: [%s]}\ncontainment: {require: off}\n", strings.Join(rules, ", "), strings.Join(pass, ", "))
	return b.String()
}

// In which order things stand that don't depend on each other changes no verdict, no
// set of reasons and nothing of what is granted.
func TestOrderDoesNotMatter(t *testing.T) {
	first := load(t, unordered(unorderedPrograms, unorderedArgs, unorderedRules, unorderedPass))
	rapid.Check(t, func(t *rapid.T) {
		other := load(t, unordered(
			rapid.Permutation(unorderedPrograms).Draw(t, "programs"), rapid.Permutation(unorderedArgs).Draw(t, "args"),
			rapid.Permutation(unorderedRules).Draw(t, "rules"), rapid.Permutation(unorderedPass).Draw(t, "pass")))
		argv := append([]string{rapid.SampledFrom([]string{"go", "make", "/bin/ls", "/bin/go", "other"}).Draw(t, "word")},
			rapid.SliceOfN(rapid.SampledFrom([]string{"test", "vet", "a", "x", "-v", "-n", "3", ""}), 0, 4).Draw(t, "words")...)
		req := ask(argv...)
		if rapid.Bool().Draw(t, "stdin") {
			text := "x"
			req.Command.Stdin.Text = &text
		}
		say := func(p *policy.Policy) string {
			f := friendly(p, req)
			f.HostEnv = map[string]string{"LANG": "C", "TZ": "UTC"}
			d := policy.Decide(p, req, f)
			var codes []string
			for _, r := range d.Refusals {
				codes = append(codes, string(r.Code)+" "+r.Rule)
			}
			slices.Sort(codes)
			text := string(d.Effect) + " " + strings.Join(codes, ", ")
			if d.Grant() != nil {
				text += d.Grant().Executable.Path + strings.Join(d.Grant().EnvironmentNames, ",")
			}
			return text
		}
		if a, b := say(first), say(other); a != b {
			t.Fatalf("%q: %s, in another order %s", argv, a, b)
		}
	})
}

// A decision costs the same whether there are five rules or five hundred, so that the
// bound on its time (BenchmarkDecide…) doesn't hang on the length of a policy.
func TestDecisionsDontGrowWithThePolicy(t *testing.T) {
	cost := func(rules int, argv ...string) float64 {
		var b strings.Builder
		b.WriteString("version: 1\nroots: [{path: /srv/checkout}]\nexecutables:\n  - name: go\n    path: /bin/go\n    args:\n")
		for i := range rules {
			fmt.Fprintf(&b, "      - {allow: [verb%d, <word>], flags: {-a: none}, rest: <package>...}\n", i)
		}
		b.WriteString("      - {allow: [test], flags: {-run: <word>}, rest: <package>...}\n")
		for i := range rules {
			fmt.Fprintf(&b, "  - {name: tool%d, path: /bin/tool%d, args: any}\n", i, i)
		}
		p := load(t, b.String()+"containment: {require: off}\nprincipals: [{kind: agent, narrow: {limits: {timeout: 1m}}}]\n")
		req := ask(argv...)
		f := friendly(p, req)
		if d := policy.Decide(p, req, f); (d.Effect == paddock.Allow) != (argv[1] == "test") {
			t.Fatalf("%q: %v", argv, d.Refusal())
		}
		fewest := math.Inf(1)
		for range 5 { // a collection meanwhile takes away what is kept for the next decision
			fewest = min(fewest, testing.AllocsPerRun(100, func() { policy.Decide(p, req, f) }))
		}
		return fewest
	}
	for _, argv := range [][]string{{"go", "test", "-run", "X", "./..."}, {"go", "none", "./..."}} {
		few, many := cost(5, argv...), cost(500, argv...)
		if many > few+2 || many > 120 {
			t.Errorf("%q: %v allocations with 500 rules, %v with 5", argv, many, few)
		}
	}
}
