//go:build linux

package rundir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
)

// archive fills s with n settled runs, as if made over several days. It writes
// plain files: what Prepare syncs would take minutes.
func archive(t *testing.T, s *State, n int) []paddock.RunID {
	t.Helper()
	var ids []paddock.RunID
	for i := range n {
		id, err := paddock.NewRunID(epoch.Add(time.Duration(i)*30*time.Second), nil)
		if err != nil {
			t.Fatal(err)
		}
		who := alice
		if i%10 == 0 {
			who = bob
		}
		files, err := record.Seal(id, intent(who))
		if err != nil {
			t.Fatal(err)
		}
		dir := s.PathOf(id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "request.json"), files[0].Data, 0o600); err != nil {
			t.Fatal(err)
		}
		shared := filepath.Join(filepath.Dir(s.Path()), who.ID) // a decision is the same for all of one's runs here
		if i < 2 {
			write(t, shared, string(files[1].Data))
		}
		if err := os.Link(shared, filepath.Join(dir, "decision.json")); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Reverse(ids)
	return ids
}

func TestListTenThousand(t *testing.T) {
	s := open(t)
	n := 10_000
	if testing.Short() {
		n = 2000
	}
	ids := archive(t, s, n)
	if days := names(t, filepath.Join(s.Path(), runsDir)); len(days) < 2 {
		t.Fatalf("days: %v", days)
	}
	// What is never a run: names that aren't ids, and days that aren't days.
	for _, name := range []string{"runs/20261130/.tmp-x", "runs/20261130/notes", "runs/.hidden", "runs/yesterday"} {
		if err := os.Mkdir(filepath.Join(s.Path(), name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var got []paddock.RunID
	var before paddock.RunID
	var most uint64
	for page := 0; ; page++ {
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		runs, next, err := s.List(before, 250, Wanted{})
		runtime.ReadMemStats(&m1)
		most = max(most, m1.TotalAlloc-m0.TotalAlloc)
		if err != nil || len(runs) == 0 {
			t.Fatalf("page %d: %d runs, %v", page, len(runs), err)
		}
		for _, r := range runs {
			got = append(got, r.ID)
		}
		if next == "" {
			break
		}
		if next != runs[len(runs)-1].ID {
			t.Fatalf("next = %s after %s", next, runs[len(runs)-1].ID)
		}
		before = next
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Error("the pages don't hold every run once, newest first")
	}
	// All that is allocated for a page, garbage too: some 20 KB a run.
	if most > 16<<20 {
		t.Errorf("a page of 250 runs took %d bytes", most)
	}
	bobs, next, err := s.List(ids[n/4], 100, Wanted{Principal: bob})
	if err != nil || len(bobs) != 100 || next != bobs[99].ID || bobs[0].ID >= ids[n/4] {
		t.Errorf("bob's runs: %d, %q, %v", len(bobs), next, err)
	}
}

func TestListEdges(t *testing.T) {
	t.Parallel()
	s := open(t)
	if runs, next, err := s.List("", 5, Wanted{}); runs != nil || next != "" || err != nil {
		t.Errorf("List of nothing = %v, %q, %v", runs, next, err)
	}
	if _, _, err := s.List("r../..", 5, Wanted{}); err == nil {
		t.Error("a before that isn't an id was taken")
	}
	a, b, c := start(t, s, 1, alice), start(t, s, 2, alice), start(t, s, 3, alice)
	if runs, next, err := s.List("", 3, Wanted{}); len(runs) != 3 || next != "" || err != nil {
		t.Errorf("a page that holds all: %d, %q, %v", len(runs), next, err)
	}
	if runs, next, err := s.List("", 0, Wanted{}); len(runs) != 0 || next != "" || err != nil {
		t.Errorf("a page of nothing: %d, %q, %v", len(runs), next, err)
	}
	// One broken run is told of and hides no other.
	write(t, file(b, "request.json"), "{")
	runs, next, err := s.List("", 5, Wanted{})
	var unreadable *Unreadable
	if !errors.As(err, &unreadable) || len(unreadable.Runs) != 1 || !strings.Contains(err.Error(), file(b, "request.json")) {
		t.Errorf("List with a broken run: %v", err)
	}
	if len(runs) != 2 || runs[0].ID != c.ID() || runs[1].ID != a.ID() || next != "" {
		t.Errorf("the others: %v, %q", runs, next)
	}
}

func TestUnseen(t *testing.T) {
	t.Parallel()
	s := open(t)
	counts := func(p paddock.Principal, running, finished int) {
		t.Helper()
		r, f, err := s.Unseen(p)
		if r != running || f != finished || err != nil {
			t.Errorf("Unseen(%s) = %d, %d, %v, want %d, %d", p.ID, r, f, err, running, finished)
		}
	}
	counts(alice, 0, 0)
	a, b := start(t, s, 1, alice), start(t, s, 2, alice)
	start(t, s, 3, bob)
	counts(alice, 2, 0)
	if err := s.MarkSeen(alice, a.ID()); !errors.Is(err, ErrNotSettled) {
		t.Errorf("MarkSeen of a run that goes on: %v", err)
	}
	settle(t, a)
	settle(t, b)
	counts(alice, 0, 2)
	if err := s.MarkSeen(bob, a.ID()); err != nil {
		t.Errorf("MarkSeen by another: %v", err)
	}
	counts(alice, 0, 2)
	for range 2 {
		if err := s.MarkSeen(alice, a.ID()); err != nil {
			t.Error(err)
		}
	}
	counts(alice, 0, 1)
	counts(bob, 1, 0)
	if err := s.MarkSeen(alice, newID(t, 9)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("MarkSeen of nothing: %v", err)
	}
	// Kinds matter as much as ids, and neither can be spelt as the other.
	counts(paddock.Principal{Kind: paddock.Host, ID: "alice"}, 0, 0)
}

func TestActive(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := start(t, s, 1, alice), start(t, s, 2, alice)
	start(t, s, 3, bob)
	orphan(t, s, 4, alice)
	if n := active(t, s, alice); n != 2 {
		t.Errorf("alice has %d active runs, want 2", n)
	}
	settle(t, a)
	if n := active(t, s, alice); n != 1 {
		t.Errorf("alice has %d active runs after one settled", n)
	}
	if there, err := durable.Exists(s.index.Active(a.ID())); there || err != nil {
		t.Errorf("the entry of a settled run is kept: %v", err)
	}
	settle(t, b)
	if ids, err := s.ListActive(); err != nil || len(ids) != 2 { // bob's and the orphan
		t.Errorf("ListActive = %v, %v", ids, err)
	}
}

// An entry that isn't ours to read makes the count fail instead of being low.
func TestActiveWithHostileEntry(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"torn": "", "another's": `{"version":1,"id":"` + string(newID(t, 99)) + `","principal":"x","request_digest":""}`} {
		s := open(t)
		d := start(t, s, 1, alice)
		write(t, s.index.Active(d.ID()), text)
		err := s.Claim(t.Context(), func(c *Claim) error {
			_, err := c.Active(alice)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), s.index.Active(d.ID())) {
			t.Errorf("%s: %v", name, err)
		}
		settle(t, d)
		if n := active(t, s, alice); n != 0 {
			t.Errorf("%s: the entry of a settled run stays in the way", name)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := prepare(t, s, newID(t, 1), intent(alice))
	publish(t, s, d, "key")
	claim(t, s, func(c *Claim) error {
		for _, try := range []struct {
			p    paddock.Principal
			key  string
			want bool
		}{{alice, "key", true}, {bob, "key", false}, {alice, "", false}, {alice, "key2", false}, {alice, "../" + links.KeysDir, false}} {
			id, digest, found, err := c.Key(try.p, try.key)
			if found != try.want || err != nil || found && (id != d.ID() || digest != intent(alice).Request.Digest()) {
				t.Errorf("Key(%s, %q) = %s, %s, %v, %v", try.p.ID, try.key, id, digest, found, err)
			}
		}
		write(t, s.index.Key(record.Hash(bob), "stolen"), readAll(t, s.index.Key(record.Hash(alice), "key")))
		if _, _, found, err := c.Key(bob, "stolen"); found || err == nil {
			t.Errorf("a key that leads to another's run: %v, %v", found, err)
		}
		return nil
	})
	// A removed run frees its key.
	if err := os.RemoveAll(d.Path()); err != nil {
		t.Fatal(err)
	}
	publish(t, s, prepare(t, s, newID(t, 2), intent(alice)), "key")
}

func readAll(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestClaimIsExclusive(t *testing.T) {
	t.Parallel()
	s := open(t)
	other := openAt(t, s.Path()) // as another process has it
	for name, second := range map[string]*State{"same State": s, "another": other} {
		claim(t, s, func(*Claim) error {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			err := second.Claim(ctx, func(*Claim) error { t.Errorf("%s: claimed twice", name); return nil })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			return nil
		})
		ran := false
		claim(t, second, func(*Claim) error { ran = true; return nil })
		if !ran {
			t.Errorf("%s: not claimed after it was free", name)
		}
	}
	want := errors.New("from fn")
	if err := s.Claim(t.Context(), func(*Claim) error { return want }); !errors.Is(err, want) {
		t.Errorf("Claim = %v", err)
	}
	// A panic must not take the claim along.
	func() {
		defer func() { recover() }()
		s.Claim(t.Context(), func(*Claim) error { panic("x") })
	}()
	claim(t, other, func(*Claim) error { return nil })
}

// What a delegate asks for counts for whom it works, at every level, and for nobody else.
func TestActiveOfDelegates(t *testing.T) {
	t.Parallel()
	s := open(t)
	worker := alice.Delegate("worker", "d1")
	inner := worker.Delegate("worker", "d2")
	start(t, s, 1, alice)
	start(t, s, 2, worker)
	start(t, s, 3, inner)
	start(t, s, 4, bob)
	for _, p := range []paddock.Principal{alice, worker, inner, alice.Delegate("other", "d3")} {
		if n := active(t, s, p); n != 3 {
			t.Errorf("%s has %d active runs, want 3", p.ID, n)
		}
	}
	if n := active(t, s, bob); n != 1 {
		t.Errorf("bob has %d active runs", n)
	}
}
