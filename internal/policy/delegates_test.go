package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/policy"
)

const delegating = minimal + `launch: {agents: true}
delegates:
  providers:
    worker: {path: /opt/worker, args: [-q, '<word>'], limits: {output: 1MiB}}
    quick: {path: /opt/quick, limits: {timeout: 5s}}
  concurrent: 3
`

func delegated(p *policy.Policy, word string, change ...func(*paddock.Request)) paddock.Decision {
	req := ask(word)
	req.Room = "delegate"
	for _, c := range change {
		c(&req)
	}
	room := p.For("delegate")
	return policy.Decide(room, req, friendly(room, req))
}

// The section permits its agents to that room and to nobody else, with the limits of
// each, and the words that the policy says.
func TestDelegatesSection(t *testing.T) {
	t.Parallel()
	p := load(t, delegating)
	if none := (*policy.Policy)(nil).Delegates(); none != nil {
		t.Errorf("without a policy there are %+v", none)
	}
	d := p.Delegates()
	if !slices.Equal(d.Names, []string{"worker", "quick"}) || !slices.Equal(d.Args["worker"], []string{"-q", "<word>"}) || d.Concurrent != 3 || d.Depth != 1 || time.Duration(d.Wait) != 10*time.Minute {
		t.Errorf("%+v", d)
	}
	for word, timeout := range map[string]time.Duration{"worker": 30 * time.Minute, "quick": 5 * time.Second} {
		if got := delegated(p, word); got.Effect != paddock.Allow || time.Duration(got.Grant().Limits.Timeout) != timeout {
			t.Errorf("%s: %+v", word, got)
		}
		if got := policy.Decide(p, ask(word), friendly(p, ask(word))); got.Effect == paddock.Allow || got.Refusal().Code != paddock.ExecutableNotAllowed {
			t.Errorf("a caller's own %s: %+v", word, got)
		}
	}
	for _, e := range p.Words() {
		if got := delegated(p, e); got.Effect == paddock.Allow {
			t.Errorf("a caller's %s is an agent: %+v", e, got)
		}
	}
	named := func(r *paddock.Request) { r.Command.Env = map[string]string{"PADDOCK_DELEGATE": "d1"} }
	if got := delegated(p, "worker", named); got.Effect != paddock.Allow || !slices.Contains(got.Grant().EnvironmentNames, "PADDOCK_DELEGATE") {
		t.Errorf("%+v", got)
	}
	req := ask(p.Words()[0])
	if named(&req); policy.Decide(p, req, friendly(p, req)).Effect == paddock.Allow {
		t.Error("a caller may say that it is a delegate")
	}
}

// What narrows a policy narrows its agents: limits, rules, roots; not by its list of
// programs, which isn't about them.
func TestDelegatesAreNarrowed(t *testing.T) {
	t.Parallel()
	p := load(t, delegating+`principals:
  - id: narrow
    narrow:
      executables: []
      limits: {timeout: 1m}
      rules: [{name: no, deny: 'executable == "quick"', message: "not quick"}]
      environment: {accept: {}}
`)
	narrow := func(r *paddock.Request) {
		r.Principal.ID = "narrow"
		r.Command.Env = map[string]string{"PADDOCK_DELEGATE": "d1"}
	}
	if got := delegated(p, "worker", narrow); got.Effect != paddock.Allow || time.Duration(got.Grant().Limits.Timeout) != time.Minute || got.Grant().Limits.Output != 1<<20 {
		t.Errorf("%+v", got)
	}
	if got := delegated(p, "quick", narrow); got.Effect != paddock.Deny || got.Refusal().Code != paddock.RuleDenied {
		t.Errorf("%+v", got)
	}
	if got := delegated(p, "quick"); got.Effect != paddock.Allow {
		t.Errorf("%+v", got)
	}
}

func TestDelegatesFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"delegates: {}": "`providers` is missing",
		"delegates: {providers: {w: {args: [a]}}}":                                  "`path` is missing",
		"delegates: {providers: {w: {path: w}}}":                                    "want an absolute path",
		"delegates: {providers: {'a b': {path: /w}}}":                               "want one word",
		"delegates: {providers: {w: {path: /w/../x}}}":                              "write this path as /x",
		"delegates: {providers: {w: {path: /w, network: ['a.example:1']}}}":         "nothing holds a program to this list",
		"delegates: {providers: {w: {path: /w, argv: [x]}}}":                        "unknown key `argv`",
		"delegates: {providers: {w: {path: /w}, w: {path: /x}}}":                    "given twice",
		"delegates: {providers: {w: {path: /w}}, depth: 0}":                         "from 1 to 8",
		"delegates: {providers: {w: {path: /w}}, concurrent: many}":                 "many",
		"delegates: {providers: {w: {path: /w, environment: {set: {A_TOKEN: x}}}}}": "looks like a secret",
		"launch: {agents: maybe}":                                                   "true or false",
		"launch: {engines: true}":                                                   "engines",
	} {
		_, err := policy.Load("p.yaml", []byte(minimal+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
