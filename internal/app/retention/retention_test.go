//go:build linux

package retention

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	operator = paddock.Principal{Kind: paddock.Operator, ID: "op"}
	alice    = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	epoch    = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

func now() time.Time { return epoch.Add(24 * time.Hour) }

// ended makes settled runs, one in each root, n hours after epoch. Their standard
// input takes room.
func ended(t *testing.T, state string, n int, roots ...string) (ids []paddock.RunID) {
	t.Helper()
	s, err := rundir.Open(state)
	must(t, err)
	defer s.Close()
	at := epoch.Add(time.Duration(n) * time.Hour)
	for _, root := range roots {
		id, err := paddock.NewRunID(at, nil)
		must(t, err)
		text := "some text"
		req := paddock.Request{Principal: alice, Door: paddock.DoorMCP, Command: paddock.Command{Argv: []string{"true"}, Stdin: paddock.Stdin{Text: &text}}}
		d, err := s.Prepare(t.Context(), id, rundir.Intent{Request: req, CreatedAt: at, Decision: paddock.Decision{
			Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Root: root, Dir: root}),
		}})
		must(t, err)
		must(t, s.Claim(t.Context(), func(c *rundir.Claim) error { return c.Publish(d, "") }))
		_, err = d.PublishOutcome(paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}, EndedAt: at, SettledAt: at})
		must(t, err)
		must(t, d.ReleaseLock())
		ids = append(ids, id)
	}
	return ids
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, state string) *Retention {
	t.Helper()
	r, err := Open(t.Context(), operator, state, now, func(err error) { t.Error(err) })
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

func code(err error) paddock.Code {
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

func load(t *testing.T, retention string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("policy.yaml", []byte("version: 1\nroots: [{path: /srv/a}]\nexecutables: []\n"+retention))
	must(t, err)
	return p
}

// prune returns what prune removed, sorted.
func prune(t *testing.T, prune func(each func(Item) error) error) (ids []paddock.RunID) {
	t.Helper()
	must(t, prune(func(i Item) error { ids = append(ids, i.Run); return nil }))
	slices.Sort(ids)
	return ids
}

// Only an operator says what is kept, and nothing is made for others.
func TestWhoMay(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	for _, p := range []paddock.Principal{{}, alice, {Kind: paddock.Host, ID: "h"}, {Kind: paddock.Operator}} {
		r, err := Open(t.Context(), p, state, now, nil)
		if r != nil || code(err) != paddock.Forbidden {
			t.Errorf("%+v: %v, %v", p, r, err)
		}
	}
}

// The policy's limits hold for runs in its roots, and are asked again on a dry run
// without anything being removed.
func TestPrunePolicy(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	old := ended(t, state, 0, "/srv/a", "/srv/b")
	ended(t, state, 20, "/srv/a")
	r := open(t, state)
	p := load(t, "retention: {age: 12h}\n")
	for _, dry := range []bool{true, false} {
		got := prune(t, func(each func(Item) error) error { return r.PrunePolicy(t.Context(), p, dry, each) })
		if !slices.Equal(got, old[:1]) {
			t.Errorf("dry %v: removed %v, want %v", dry, got, old[:1])
		}
	}
	if got := prune(t, func(each func(Item) error) error { return r.PrunePolicy(t.Context(), p, false, each) }); got != nil {
		t.Errorf("again removed %v", got)
	}
	// What was asked of one policy isn't left for the next question.
	got := prune(t, func(each func(Item) error) error {
		return r.Prune(t.Context(), Limits{Age: 12 * time.Hour}, false, each)
	})
	if !slices.Equal(got, old[1:]) {
		t.Errorf("by age %v, want %v", got, old[1:])
	}
	if err := r.PrunePolicy(t.Context(), load(t, ""), false, nil); code(err) != paddock.InvalidRequest {
		t.Errorf("a policy that says nothing: %v", err)
	}
}

func TestPruneRefuses(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "state"))
	for _, l := range []Limits{{Age: -1}, {Runs: -1}, {Size: -1}, {Records: -1}} {
		if err := r.Prune(t.Context(), l, true, nil); code(err) != paddock.InvalidRequest {
			t.Errorf("%+v: %v", l, err)
		}
	}
	unknown, err := paddock.NewRunID(epoch, nil)
	must(t, err)
	for name, do := range map[string]func() error{
		"prune":  func() error { _, err := r.PruneRun(t.Context(), unknown, false); return err },
		"keep":   func() error { _, err := r.Keep(t.Context(), unknown); return err },
		"unkeep": func() error { _, err := r.Unkeep(t.Context(), unknown); return err },
	} {
		if err := do(); code(err) != paddock.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is kept stays until that is taken back.
func TestKeep(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	id := ended(t, state, 0, "/srv/a")[0]
	r := open(t, state)
	run, err := r.Keep(t.Context(), id)
	if err != nil || run.Kept == nil || run.Kept.By != operator.ID {
		t.Fatalf("%+v, %v", run.Kept, err)
	}
	if _, err := r.PruneRun(t.Context(), id, false); code(err) != paddock.Conflict {
		t.Errorf("by name: %v", err)
	}
	all := func(each func(Item) error) error { return r.Prune(t.Context(), Limits{Age: time.Minute}, false, each) }
	if got := prune(t, all); got != nil {
		t.Errorf("removed %v", got)
	}
	run, err = r.Unkeep(t.Context(), id)
	if err != nil || run.Kept != nil {
		t.Fatalf("%+v, %v", run.Kept, err)
	}
	if got := prune(t, all); !slices.Equal(got, []paddock.RunID{id}) {
		t.Errorf("removed %v", got)
	}
	if item, err := r.PruneRun(t.Context(), id, false); item != nil || err != nil {
		t.Errorf("again: %v, %v", item, err)
	}
}

// Who gives up is told, and so is who can't take what was removed.
func TestPruneStops(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	ended(t, state, 0, "/srv/a")
	r := open(t, state)
	broken := errors.New("broken")
	if err := r.Prune(t.Context(), Limits{Age: time.Minute}, true, func(Item) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := r.Prune(ctx, Limits{Age: time.Minute}, false, func(i Item) error { return fmt.Errorf("removed %v", i) })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
