//go:build linux

package retain

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/rundir"
)

func load(t testing.TB, retention string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("policy.yaml", []byte("version: 1\nroots: [{path: /srv/checkout}]\nexecutables: []\ncontainment: {require: off}\n"+retention))
	must(t, err)
	return p
}

// sweeper is one over h's state directory, by a clock of its own.
func (h *house) sweeper(clock *time.Time, load func() (*policy.Policy, error)) *Sweeper {
	return NewSweeper(h.State, h.Tell, func() time.Time { return *clock }, load)
}

// What the policy says is done every ten minutes, by whoever is first, and to
// runs in its roots only.
func TestSweep(t *testing.T) {
	t.Parallel()
	h := open(t)
	const size = 5
	old, young := h.ended(0, size), h.ended(20, size)
	h.root = "/srv/elsewhere"
	other := h.ended(0, size)
	now := h.Now()
	p := load(t, "retention: {age: 12h}\n")
	var refusal *paddock.Refusal
	source := func() (*policy.Policy, error) {
		if refusal != nil {
			return nil, refusal
		}
		return p, nil
	}
	one, two := h.sweeper(&now, source), h.sweeper(&now, source)
	refusal = paddock.Refused(paddock.NoPolicy, "There is none.")
	must(t, one.Turn(t.Context()))
	if got := h.left(old, young, other); got != "ooo" {
		t.Fatalf("without a policy %s is left", got)
	}
	refusal = nil
	must(t, one.Turn(t.Context()))
	if got := h.left(old, young, other); got != "roo" {
		t.Fatalf("left %s", got)
	}
	if run, err := old.Record(now); err != nil || run.Pruned.By != "policy" || run.Pruned.Reason != paddock.PruneAge {
		t.Errorf("%+v, %v", run.Pruned, err)
	}
	now = now.Add(9 * time.Hour)
	must(t, os.Chtimes(filepath.Join(h.State.Path(), "swept"), now, now)) // as if somebody began now
	must(t, errors.Join(one.Turn(t.Context()), two.Turn(t.Context())))
	if got := h.left(young); got != "o" {
		t.Fatalf("somebody else's pass was begun again")
	}
	now = now.Add(10 * time.Minute)
	must(t, two.Turn(t.Context()))
	if got := h.left(old, young, other); got != "rro" {
		t.Errorf("left %s", got)
	}
	// A clock that was set back doesn't keep passes from being begun.
	h.root = ""
	again := h.ended(1, size)
	now = now.Add(-time.Hour)
	must(t, two.Turn(t.Context()))
	if got := h.left(again); got != "r" {
		t.Errorf("after the clock was set back %s is left", got)
	}
}

// A turn's work is bounded, and a pass goes on where the last turn stopped, past
// runs that can't be read.
func TestTurns(t *testing.T) {
	t.Parallel()
	h := open(t)
	now := h.Now()
	var dirs []*rundir.Dir
	for i := range perTurn + 2 {
		dirs = append(dirs, h.ended(i%12, 5))
	}
	p := load(t, "retention: {records: 1h, runs: 3, size: 1GiB}\n")
	s := h.sweeper(&now, func() (*policy.Policy, error) { return p, nil })
	newest := dirs[len(dirs)-1]
	for _, d := range dirs {
		if d.ID() > newest.ID() {
			newest = d
		}
	}
	must(t, os.WriteFile(filepath.Join(newest.Path(), "outcome.json"), nil, 0o600))
	if err := s.Turn(t.Context()); err == nil {
		t.Error("nothing was said of the damaged record")
	}
	if got := len(h.told); got != perTurn-1 {
		t.Errorf("one turn removed %d", got)
	}
	must(t, s.Turn(t.Context()))
	if got := len(h.told); got != perTurn+1 {
		t.Errorf("two turns removed %d", got)
	}
}
