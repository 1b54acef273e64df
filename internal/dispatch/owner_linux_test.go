package dispatch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/dispatch"
	"paddock/internal/dispatch/rows"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
)

// Who owns the database changes rows of what was asked for honestly: whose it is, who has
// it, and how often that was given away. Nothing runs as somebody else, a worker starts
// nothing twice, and it has nothing carried out that it didn't claim.
func TestTheOwnerOfTheDatabaseChangesRows(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	mark := filepath.Join(f.door.work, "mark")
	marks := func(want int) {
		t.Helper()
		text, err := os.ReadFile(mark)
		if err != nil && !os.IsNotExist(err) || strings.Count(string(text), "x") != want {
			t.Errorf("it ran %d times, not %d: %v", strings.Count(string(text), "x"), want, err)
		}
	}
	ask := func(script string) (paddock.RunID, []byte) {
		t.Helper()
		run, err := f.service.StartPlaced(t.Context(), request(alice, script), dispatch.Placement{Needs: []string{"first"}})
		if err != nil {
			t.Fatal(err)
		}
		return run.ID, row(t, f.admin, run.ID, func(r store.Run) bool { return len(r.Envelope) > 0 }).Envelope
	}
	do := func(id paddock.RunID, change string, args ...any) {
		t.Helper()
		storetest.Do(t, f.address, "UPDATE runs SET "+change+" WHERE id=$1", append([]any{string(id)}, args...)...)
	}

	// It is made somebody else's before anybody claims it: it runs as who asked.
	swapped, _ := ask("echo x >>" + mark)
	do(swapped, "owner=$2, principal=$3", string(rows.Owner(boss)), boss.ID)
	lowered, envelope := ask("echo x >>" + mark + "; exec sleep 600")
	first, _, _ := f.worker("first", func(m *dispatch.Machine) { m.Labels = []string{"first"} })
	if r := settled(t, f.admin, swapped); r.State != paddock.Exited {
		t.Errorf("the swapped one: %s, %s", r.State, r.Outcome)
	}
	if here, err := first.app.Look(t.Context(), boss, swapped); err != nil || here.Principal.ID != alice.ID || here.Principal.Kind != paddock.User {
		t.Errorf("it ran as %+v, %v", here.Principal, err)
	}
	if _, err := first.app.Look(t.Context(), bob, swapped); !hidden(err) {
		t.Errorf("bob is told %v", err)
	}
	row(t, f.admin, lowered, func(r store.Run) bool { return r.State == paddock.Running })
	marks(2)

	// Its fence is lowered, so that somebody else may have it: its worker ends it, and
	// follows the order no second time.
	do(lowered, "state='queued', settled=0, worker='', fence=0, claimed=0, started=0, outcome='', envelope=$2", envelope)
	if r := settled(t, f.admin, lowered); r.State != paddock.RefusedState || !strings.Contains(string(r.Outcome), "followed before") {
		t.Errorf("the lowered one: %s, %s", r.State, r.Outcome)
	}
	if here, err := first.app.Wait(t.Context(), boss, lowered, time.Minute); err != nil || here.State != paddock.Killed {
		t.Errorf("at its worker it is %s, %v", here.State, err)
	}
	marks(2)

	// Another worker is said to have it: that one has no directory of it, and starts
	// nothing. Its row is another's to write, then.
	pointed, envelope := unclaimed(t, f, mark)
	second, _, _ := f.worker("second", func(m *dispatch.Machine) { m.Labels = []string{"second"} })
	do(pointed, "state='starting', worker='second', fence=5, claimed=1")
	if r := settled(t, f.admin, pointed); r.State != paddock.FailedToStart || r.Worker != "second" {
		t.Errorf("the one that was pointed elsewhere: %s at %s, %s", r.State, r.Worker, r.Outcome)
	}
	marks(2)
	if _, err := second.app.Look(t.Context(), boss, pointed); !hidden(err) {
		t.Errorf("the second worker knows of it: %v", err)
	}

	// What was signed is good for one start on each machine that believes the key, which is
	// as much as who owns the database can have of it: never twice on one.
	for range 2 {
		do(pointed, `state='queued', settled=0, worker='', fence=0, claimed=0, started=0, outcome='', needs='["second"]', envelope=$2`, envelope)
		settled(t, f.admin, pointed)
	}
	marks(3)
}

// unclaimed has something queued that nobody can claim.
func unclaimed(t *testing.T, f *field, mark string) (paddock.RunID, []byte) {
	t.Helper()
	run, err := f.service.StartPlaced(t.Context(), request(alice, "echo x >>"+mark), dispatch.Placement{Needs: []string{"nobody"}})
	if err != nil {
		t.Fatal(err)
	}
	return run.ID, row(t, f.admin, run.ID, func(r store.Run) bool { return len(r.Envelope) > 0 }).Envelope
}
