//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unruled takes the rules out of the yard's policy, and returns what it said with them.
func (y *yard) unruled() (text string) {
	y.t.Helper()
	b, err := os.ReadFile(filepath.Join(y.work, "policy.yaml"))
	if err != nil {
		y.t.Fatal(err)
	}
	before, rules, ok := strings.Cut(string(b), "rules:\n")
	_, after, more := strings.Cut(rules, "\n")
	if !ok || !more {
		y.t.Fatalf("no rules in %s", b)
	}
	y.write("policy.yaml", before+after)
	return string(b)
}

// ruled tests that who is quick judges by no policy with a rule, wherever that is: whole
// does, as if it had been asked, and nothing of the first try is seen. Text is a policy
// with one.
func (y *yard) ruled(text, quick, whole string) {
	t := y.t
	t.Helper()
	plain, err := os.ReadFile(filepath.Join(y.work, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const rule = `rules: [{name: no-forbidden, deny: '"--forbidden" in argv', message: not for agents}]`
	y.paddock = quick
	records := func() int { return strings.Count(y.output("ps", "--all", "--json"), `"created_at"`) }
	try := func(args ...string) (string, int) {
		t.Helper()
		cmd := y.command(args...)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	for name, policy := range map[string]string{
		"the policy":          text,
		"a part for some":     string(plain) + "principals: [{kind: operator, narrow: {" + rule + "}}]\n",
		"a part for others":   string(plain) + "principals: [{kind: agent, narrow: {" + rule + "}}]\n",
		"one that extends it": "version: 1\nextends: plain.yaml\n" + rule + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			y.write("plain.yaml", string(plain))
			y.write("policy.yaml", policy)
			before := records()
			if err := os.Rename(whole, whole+".away"); err != nil {
				t.Fatal(err)
			}
			said, status := try("run", "--", "prog", "say", "hi")
			if status != 125 || !strings.Contains(said, "paddock-server is missing") || strings.Contains(said, "hi\n") {
				t.Errorf("with nobody who can judge: %d, %s", status, said)
			}
			if err := os.Rename(whole+".away", whole); err != nil {
				t.Fatal(err)
			}
			if got := records(); got != before {
				t.Errorf("%d records where there were %d", got, before)
			}
			if said, status := try("run", "--", "prog", "say", "hi"); status != 0 || said != "hi\n" {
				t.Errorf("%d, %s", status, said)
			}
			if got := records(); got != before+1 {
				t.Errorf("%d records where there were %d, and one run", got, before)
			}
			want := 126
			if name == "a part for others" {
				want = 0
			}
			if said, status := try("run", "--", "prog", "say", "--forbidden"); status != want || want != 0 && !strings.Contains(said, "agents") {
				t.Errorf("%d, want %d: %s", status, want, said)
			}
		})
	}
	y.write("policy.yaml", string(plain))
}
