package policy_test

import (
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/policy"
)

// TestTerminal: who asks for a terminal gets one where the executable says so, with a TERM
// unless somebody says which, and rules see it as an input.
func TestTerminal(t *testing.T) {
	t.Parallel()
	onTerminal := func(r *paddock.Request) { r.Command.Terminal = &paddock.TerminalSize{Rows: 24, Columns: 80} }
	given := strings.Replace(minimal, "    args:\n", "    pty: true\n    args:\n", 1)
	decide := func(text string, change func(*paddock.Request)) paddock.Decision {
		t.Helper()
		p := load(t, text)
		req := ask("go", "test", "./...")
		change(&req)
		return policy.Decide(p, req, friendly(p, req))
	}
	d := decide(given, onTerminal)
	if d.Effect != paddock.Allow || !slices.Contains(d.Grant().Environment, "TERM=xterm-256color") {
		t.Fatalf("a terminal: %v, %v", d.Refusal(), d.Grant())
	}
	if d := decide(given, func(*paddock.Request) {}); d.Effect != paddock.Allow || slices.Contains(d.Grant().EnvironmentNames, "TERM") {
		t.Errorf("without a terminal: %v, %v", d.Refusal(), d.Grant())
	}
	if d := decide(given+"environment: {set: {TERM: dumb}}\n", onTerminal); d.Effect != paddock.Allow || !slices.Contains(d.Grant().Environment, "TERM=dumb") {
		t.Errorf("a TERM that the policy sets: %v, %v", d.Refusal(), d.Grant())
	}
	if d := decide(given+"rules: [{name: typed, deny: stdin}]\n", onTerminal); d.Refusal() == nil || d.Refusal().Rule != "typed" {
		t.Errorf("a rule about input: %v", d.Refusal())
	}
	if d := decide(given+"principals: [{narrow: {executables: [{name: go, path: /usr/local/go/bin/go, args: any}]}}]\n", onTerminal); d.Refusal() == nil || d.Refusal().Code != paddock.StdinNotAllowed {
		t.Errorf("narrower: %v", d.Refusal())
	}
}
