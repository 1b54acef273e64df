package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	operator = paddock.Principal{Kind: paddock.Operator, ID: "op"}
	alice    = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	bob      = paddock.Principal{Kind: paddock.Agent, ID: "bob"}
)

func open(t *testing.T) *App {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(dir, "policy.yaml")
	text := strings.ReplaceAll("version: 1\nroots: [{path: DIR}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\ncontainment: {require: off}\n", "DIR", dir)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := executor.Open(t.Context(), executor.Config{
		State: filepath.Join(dir, "state"), Policy: executor.PolicyFile(policy), Stage: testproc.Build(t, "paddock/cmd/paddock-stage"),
	})
	if err != nil {
		t.Fatal(err)
	}
	a := New(e)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func start(t *testing.T, a *App, p paddock.Principal, line string) paddock.Run {
	t.Helper()
	run, err := a.Start(t.Context(), paddock.Request{Principal: p, Door: paddock.DoorMCP, Command: paddock.Command{Argv: []string{"sh", "-c", line}}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Every verb asks whether the principal may.
func TestWhoMaySeeWhat(t *testing.T) {
	t.Parallel()
	a := open(t)
	run := start(t, a, alice, "exec sleep 97531")
	verbs := map[string]func(paddock.Principal) error{
		"status": func(p paddock.Principal) error { _, err := a.Status(t.Context(), p, run.ID); return err },
		"wait": func(p paddock.Principal) error {
			_, err := a.Wait(t.Context(), p, run.ID, time.Millisecond)
			return err
		},
		"output": func(p paddock.Principal) error {
			_, err := a.Output(t.Context(), p, run.ID, paddock.PageRequest{})
			return err
		},
		"abort":   func(p paddock.Principal) error { return a.Abort(t.Context(), p, run.ID) },
		"settled": func(p paddock.Principal) error { return a.Settled(t.Context(), p, run.ID) },
		"follow": func(p paddock.Principal) error {
			return a.Follow(t.Context(), p, run.ID, paddock.Stdout, 0, &strings.Builder{})
		},
		"shutdown":   func(p paddock.Principal) error { return a.Shutdown(t.Context(), p, []paddock.RunID{run.ID}) },
		"diff":       func(p paddock.Principal) error { _, err := a.Diff(t.Context(), p, run.ID, Choice{}); return err },
		"apply":      func(p paddock.Principal) error { _, err := a.Apply(t.Context(), p, run.ID, Choice{}); return err },
		"discard":    func(p paddock.Principal) error { _, err := a.Discard(t.Context(), p, run.ID); return err },
		"quarantine": func(p paddock.Principal) error { _, err := a.Quarantine(t.Context(), p, run.ID); return err },
		"restore": func(p paddock.Principal) error {
			_, err := a.Restore(t.Context(), p, run.ID, []string{"x"})
			return err
		},
		"kill": func(p paddock.Principal) error { _, err := a.Kill(t.Context(), p, run.ID, KillRequest{}); return err },
	}
	code := func(err error) paddock.Code {
		var refusal *paddock.Refusal
		if errors.As(err, &refusal) {
			return refusal.Code
		}
		return ""
	}
	for name, verb := range verbs {
		if got := code(verb(bob)); got != paddock.NotFound {
			t.Errorf("%s by a stranger: %q", name, got)
		}
		if got := code(verb(paddock.Principal{})); got != paddock.Forbidden {
			t.Errorf("%s by nobody: %q", name, got)
		}
	}
	for _, name := range []string{"status", "wait", "output", "kill", "follow", "settled", "abort", "shutdown"} {
		for _, p := range []paddock.Principal{operator, alice} {
			if err := verbs[name](p); err != nil {
				t.Errorf("%s by %s: %v", name, p.Kind, err)
			}
		}
	}
	// What becomes of its changes is no agent's to say, but an operator's; who may
	// gets as far as that there are none.
	for name, want := range map[string][2]paddock.Code{
		"diff": {paddock.Conflict, paddock.Conflict}, "apply": {paddock.Conflict, paddock.Forbidden}, "discard": {paddock.Conflict, paddock.Forbidden},
		"quarantine": {paddock.Conflict, paddock.Conflict}, "restore": {paddock.Conflict, paddock.Forbidden},
	} {
		if got := [2]paddock.Code{code(verbs[name](operator)), code(verbs[name](alice))}; got != want {
			t.Errorf("%s by an operator and the agent itself: %q, want %q", name, got, want)
		}
	}
	for p, want := range map[paddock.Principal]int{operator: 1, alice: 1, bob: 0} {
		list, err := a.List(t.Context(), p, Filter{})
		if err != nil || len(list.Runs) != want {
			t.Errorf("%s sees %d runs, want %d; %v", p.ID, len(list.Runs), want, err)
		}
	}
}

// A run is finished for its owner until the owner was given its end; output
// read and others' looks don't count.
// What is hidden is for those who could read the files, too.
func TestWhoMaySeeWhatIsHidden(t *testing.T) {
	a := open(t)
	for p, may := range map[paddock.Principal]bool{operator: true, {Kind: paddock.Host, ID: "host"}: true, alice: false} {
		run := start(t, a, p, "echo hello")
		if _, err := a.Wait(t.Context(), p, run.ID, 0); err != nil {
			t.Fatal(err)
		}
		page, err := a.Output(t.Context(), p, run.ID, paddock.PageRequest{Unmasked: true})
		var refusal *paddock.Refusal
		if may && (err != nil || page.Content != "hello\n") || !may && (!errors.As(err, &refusal) || refusal.Code != paddock.Forbidden || page.Content != "") {
			t.Errorf("%s: %q, %v", p.Kind, page.Content, err)
		}
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	a := open(t)
	counts := func(p paddock.Principal) Counters {
		t.Helper()
		c, err := a.Counters(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	run := start(t, a, alice, "echo hello")
	sleeping := start(t, a, alice, "exec sleep 97532")
	if err := a.Settled(t.Context(), alice, run.ID); err != nil {
		t.Fatal(err)
	}
	want := Counters{Running: 1, Finished: 1}
	if diff := cmp.Diff(want, counts(alice)); diff != "" {
		t.Error(diff)
	}
	if _, err := a.Output(t.Context(), alice, run.ID, paddock.PageRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Status(t.Context(), operator, run.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, counts(alice)); diff != "" {
		t.Errorf("after looks that don't count: %s", diff)
	}
	if _, err := a.Status(t.Context(), alice, run.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Counters{Running: 1}, counts(alice)); diff != "" {
		t.Error(diff)
	}
	if _, err := a.KillAll(t.Context(), alice, KillRequest{Signal: "KILL"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Counters{}, counts(alice)); diff != "" {
		t.Error(diff)
	}
	if got, err := a.Wait(t.Context(), alice, sleeping.ID, 0); err != nil || got.State != paddock.Killed {
		t.Errorf("%s %v", got.State, err)
	}
	if diff := cmp.Diff(Counters{}, counts(bob)); diff != "" {
		t.Error(diff)
	}
}

// An agent learns where in the policy it was refused, not where the policy is.
func TestAgentsAreNotToldWhereThePolicyIs(t *testing.T) {
	t.Parallel()
	a := open(t)
	kept := "" // where the policy is, which the operator is told
	for _, p := range []paddock.Principal{operator, alice, {Kind: paddock.User, ID: "user:ann"}} {
		req := paddock.Request{Principal: p, Door: paddock.DoorMCP, Command: paddock.Command{Argv: []string{"rm"}}}
		_, err := a.Start(t.Context(), req)
		var refusal *paddock.Refusal
		if !errors.As(err, &refusal) || refusal.Position == nil {
			t.Fatalf("error %v", err)
		}
		d, err := a.Explain(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(d)
		if p == operator {
			kept = refusal.Position.File
		}
		if told := strings.Contains(string(text), kept); err != nil || told != (p == operator) {
			t.Errorf("%s is told all of %s, %v", p.Kind, text, err)
		}
		for _, at := range []*paddock.Position{refusal.Position, d.Refusals[0].Position} {
			if whole := filepath.IsAbs(at.File); whole != (p == operator) {
				t.Errorf("%s is told %s", p.Kind, at.File)
			}
		}
	}
}

func TestWaitIsOver(t *testing.T) {
	t.Parallel()
	a := open(t)
	run := start(t, a, alice, "exec sleep 97533")
	got, err := a.Wait(t.Context(), alice, run.ID, 20*time.Millisecond)
	if err != nil || got.State != paddock.Running {
		t.Errorf("%s %v", got.State, err)
	}
	if _, err := a.Wait(t.Context(), alice, run.ID, -1); err == nil {
		t.Error("waited less than not at all")
	}
	if _, err := a.Kill(t.Context(), alice, run.ID, KillRequest{Signal: "KILL"}); err != nil {
		t.Error(err)
	}
}
