//go:build linux

package benchmarks_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/policy"
)

// decisions measures the pure decision: 500 argument rules on one executable,
// of which the last is the one that fits, and 500 executables. Those during which the
// thread wasn't switched away from are told once more by themselves: of the others the
// machine decides how long they take.
func decisions(t *testing.T, s *sheet) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var b strings.Builder
	b.WriteString("version: 1\nroots: [{path: /srv/checkout}]\nexecutables:\n  - name: go\n    path: /usr/local/go/bin/go\n    args:\n")
	for i := range 499 {
		fmt.Fprintf(&b, "      - {allow: [verb%d, <word>], flags: {-a: none, -b: <int>}, rest: <package>...}\n", i)
	}
	b.WriteString("      - {allow: [test], flags: {-run: <word>, -count: <int>, -v: none}, rest: <package>...}\n")
	for i := range 499 {
		fmt.Fprintf(&b, "  - {name: tool%d, path: /usr/bin/tool%d, args: any}\n", i, i)
	}
	b.WriteString("containment: {require: off}\n")
	rule := "rules: [{name: a, deny: 'argv.exists(a, a == \"--forbidden\")'}]\n"
	for _, c := range []struct{ what, text, argv string }{
		{decideOK, b.String(), "go test -run TestX -count=1 ./..."},
		{decideNo, b.String(), "go test -exec sh"},
		{decideRule, b.String() + rule, "go test ./..."},
	} {
		if !s.wants(c.what, "") && !s.wants(c.what+undisturbed, "") {
			continue
		}
		p, err := policy.Load("policy.yaml", []byte(c.text))
		must(t, err)
		req := paddock.Request{
			Principal: paddock.Principal{Kind: paddock.Agent, ID: "agent"}, Door: paddock.DoorMCP,
			Command: paddock.Command{Argv: strings.Fields(c.argv)},
		}
		facts := policy.Facts{
			Executable: policy.ExecutableFacts{Found: true}, Dir: policy.DirFacts{Found: true, Real: "/srv/checkout", Root: "/srv/checkout"},
			Levels: []paddock.Level{paddock.Off}, Home: "/home",
		}
		want := map[bool]paddock.Effect{true: paddock.Allow, false: paddock.Deny}[c.what != decideNo]
		took := make([]time.Duration, 20_000) // what is kept of each mustn't be work for the collector
		alone := make([]bool, len(took))
		for i := range took {
			before, start := switches(t), time.Now()
			d := policy.Decide(p, req, facts)
			took[i] = time.Since(start)
			alone[i] = switches(t) == before
			if d.Effect != want {
				t.Fatalf("%s: %+v", c.what, d.Refusals)
			}
		}
		for i, d := range took {
			s.add(c.what, "", micros(d), "µs")
			if alone[i] {
				s.add(c.what+undisturbed, "", micros(d), "µs")
			}
		}
	}
}

// switches is how often this thread was switched away from.
func switches(t *testing.T) int64 {
	var usage unix.Rusage
	must(t, unix.Getrusage(unix.RUSAGE_THREAD, &usage))
	return usage.Nvcsw + usage.Nivcsw
}
