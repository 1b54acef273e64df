package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/policy"
)

const scoped = minimal + `launch: {agents: true}
delegates:
  providers:
    free: {path: /opt/free, tools: [run_command_bg]}
    held:
      path: /opt/held
      tools: [run_command_bg, command_status]
      narrow:
        executables: []
        limits: {timeout: 5s}
        rules: [{name: quiet, deny: 'stdin', message: "no input"}]
principals:
  - kind: operator
    narrow: {limits: {output: 1KiB}}
  - id: alice
    narrow: {limits: {timeout: 7s}}
rules: [{name: bob, deny: 'principal == "bob"', message: "not bob"}]
`

// What holds for somebody holds for who works for him, at each level, and what holds
// for a provider for all that its delegates ask for.
func TestDelegatesAreNeverWider(t *testing.T) {
	t.Parallel()
	p := load(t, scoped)
	decide := func(who paddock.Principal) paddock.Decision {
		req := ask("go", "vet", "./...")
		req.Principal = who
		return policy.Decide(p, req, friendly(p, req))
	}
	person, alice := paddock.Principal{Kind: paddock.Operator, ID: "o"}, paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	if got := decide(person.Delegate("free", "d1")); got.Effect != paddock.Allow || got.Grant().Limits.Output != 1<<10 {
		t.Errorf("an operator's: %+v", got)
	}
	for _, who := range []paddock.Principal{alice.Delegate("free", "d1"), alice.Delegate("free", "d1").Delegate("free", "d2")} {
		if got := decide(who); got.Effect != paddock.Allow || time.Duration(got.Grant().Limits.Timeout) != 7*time.Second {
			t.Errorf("%s: %+v", who.ID, got)
		}
	}
	for _, who := range []paddock.Principal{person.Delegate("held", "d1"), person.Delegate("held", "d1").Delegate("free", "d2"), person.Delegate("free", "d1").Delegate("held", "d2")} {
		if got := decide(who); got.Effect != paddock.Deny || got.Refusal().Code != paddock.ExecutableNotAllowed {
			t.Errorf("%s: %+v", who.ID, got)
		}
	}
	bob := paddock.Principal{Kind: paddock.Agent, ID: "bob"}
	for _, who := range []paddock.Principal{bob, bob.Delegate("free", "d1"), bob.Delegate("free", "d1").Delegate("free", "d2")} {
		if got := decide(who); got.Effect != paddock.Deny || got.Refusal().Code != paddock.RuleDenied {
			t.Errorf("%s: %+v", who.ID, got)
		}
	}
	// Whoever only calls itself like a provider is held to nothing by that.
	if got := decide(paddock.Principal{Kind: paddock.Agent, ID: "held"}); got.Effect != paddock.Allow {
		t.Errorf("%+v", got)
	}
}

// A provider's own program is held to what narrows the provider, but for the list of
// programs.
func TestDelegatesOwnScope(t *testing.T) {
	t.Parallel()
	p := load(t, scoped)
	if d := p.Delegates(); !slices.Equal(d.Tools["held"], []string{"run_command_bg", "command_status"}) || !slices.Equal(d.Tools["free"], []string{"run_command_bg"}) {
		t.Errorf("%+v", d.Tools)
	}
	for word, timeout := range map[string]time.Duration{"free": 30 * time.Minute, "held": 5 * time.Second} {
		room := p.For("delegate/" + word)
		req := ask(word)
		req.Room = "delegate"
		if got := policy.Decide(room, req, friendly(room, req)); got.Effect != paddock.Allow || time.Duration(got.Grant().Limits.Timeout) != timeout {
			t.Errorf("%s: %+v", word, got)
		}
	}
}

func TestDelegatesScopeFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"tools: [rm]":                                  "want one of",
		"tools: run_command_bg":                        "want a list",
		"narrow: {roots: [{path: /elsewhere}]}":        "none of these lies inside",
		"narrow: {git: {executable: /g}}":              "unknown key `git`",
		"narrow: {environment: {set: {A: b}}}":         "unknown key `set`",
		"narrow: {containment: {require: nothing}}":    "want",
		"narrow: {rules: [{name: x, deny: 'a ++ b'}]}": "x",
	} {
		_, err := policy.Load("p.yaml", []byte(minimal+"launch: {agents: true}\ndelegates: {providers: {w: {path: /w, "+text+"}}}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
