//go:build linux

package rundir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/testproc"
)

// steps lists everything that happens between nothing and a published run.
func steps(t *testing.T) []string {
	t.Helper()
	s := open(t)
	var list []string
	s.step = func(step string) { list = append(list, step) }
	d := prepare(t, s, newID(t, 0), intent(alice))
	list = append(list, "prepared")
	publish(t, s, d, "key")
	return list
}

func TestCrashAfterEachStep(t *testing.T) {
	t.Parallel()
	list := steps(t)
	if len(list) < 11 {
		t.Fatalf("only %d steps are told: %q", len(list), list)
	}
	for i, step := range list {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			id := newID(t, i)
			output(t, "crasher", s.Path(), string(id), step)
			published := step == "renamed"
			checkAfterCrash(t, s, id, published)
			var want []paddock.RunID
			if published {
				want = []paddock.RunID{id}
			}
			if diff := cmp.Diff(want, reconcile(t, s)); diff != "" {
				t.Errorf("reconciled runs (-want +got):\n%s", diff)
			}
			if again := reconcile(t, s); again != nil {
				t.Errorf("reconciled again: %v", again)
			}
			for _, dir := range []string{tmpDir, links.ActiveDir} {
				if left := names(t, filepath.Join(s.Path(), dir)); left != nil {
					t.Errorf("%s still has %v", dir, left)
				}
			}
			checkAfterReconcile(t, s, id, published)
		})
	}
}

func checkAfterCrash(t *testing.T, s *State, id paddock.RunID, published bool) {
	t.Helper()
	if n := active(t, s, alice); n != 0 {
		t.Errorf("%d runs count as active after their maker's death", n)
	}
	claim(t, s, func(c *Claim) error {
		got, digest, found, err := c.Key(alice, "key")
		if found != published || found && (got != id || digest != intent(alice).Request.Digest()) {
			t.Errorf("Key = %v, %v, %v; published is %v", got, digest, found, published)
		}
		return err
	})
	if _, err := s.Run(id); errors.Is(err, fs.ErrNotExist) == published {
		t.Errorf("Run: %v; published is %v", err, published)
	}
	runs, next, err := s.List("", 10, Wanted{})
	if err != nil || next != "" || (len(runs) == 1) != published {
		t.Errorf("List = %d runs, %q, %v", len(runs), next, err)
	}
	running, finished, err := s.Unseen(alice)
	if err != nil || finished != 0 || (running == 1) != published {
		t.Errorf("Unseen = %d, %d, %v", running, finished, err)
	}
}

// checkAfterReconcile holds that the crash doesn't bar the way of the next
// request with the same key, and that no entry leads nowhere.
func checkAfterReconcile(t *testing.T, s *State, id paddock.RunID, published bool) {
	t.Helper()
	unseen := s.index.Owned(record.Hash(alice))
	if _, err := os.Lstat(filepath.Join(unseen, string(id))); (err == nil) != published {
		t.Errorf("unseen entry: %v; published is %v", err, published)
	}
	if left := names(t, filepath.Join(s.Path(), links.KeysDir)); (len(left) == 1) != published {
		t.Errorf("keys: %v; published is %v", left, published)
	}
	d := prepare(t, s, newID(t, 1000), intent(alice))
	err := s.Claim(t.Context(), func(c *Claim) error { return c.Publish(d, "key") })
	if published != errors.Is(err, fs.ErrExist) {
		t.Errorf("publishing with the key again: %v; published is %v", err, published)
	}
	if published {
		if err := d.Abandon(); err != nil {
			t.Error(err)
		}
		if running, finished, err := s.Unseen(alice); running != 0 || finished != 1 || err != nil {
			t.Errorf("Unseen = %d, %d, %v", running, finished, err)
		}
	} else if n := active(t, s, alice); n != 1 {
		t.Errorf("%d active runs after publishing one", n)
	}
}

func TestOneKeyOneRun(t *testing.T) {
	t.Parallel()
	s := open(t)
	lines := together(t, 6, "racer", s.Path())
	won := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasPrefix(l, "true ") })
	if len(won) != 1 {
		t.Fatalf("%d of the racers won: %q", len(won), lines)
	}
	id := strings.TrimPrefix(won[0], "true ")
	for _, l := range lines {
		if !strings.HasSuffix(l, " "+id) {
			t.Errorf("%q, but the winner's run is %s", l, id)
		}
	}
	runs, _, err := s.List("", 10, Wanted{})
	if err != nil || len(runs) != 1 || string(runs[0].ID) != id {
		t.Errorf("List = %v, %v", runs, err)
	}
	if left := names(t, filepath.Join(s.Path(), tmpDir)); left != nil {
		t.Errorf("the losers left %v", left)
	}
}

func TestReconcilersAgree(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := map[string]int{}
	for i := range 40 { // more than are judged at a time
		want[string(orphan(t, s, i, alice).ID())] = 1
	}
	alive := start(t, s, 100, alice)
	got := map[string]int{}
	for _, id := range together(t, 3, "reconciler", s.Path()) {
		got[id]++
	}
	// One of them may have been judging the last few when the others ended.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settled runs (-want +got):\n%s", diff)
	}
	for id := range want {
		d, err := s.Run(paddock.RunID(id))
		if err != nil {
			t.Fatal(err)
		}
		if o, err := d.Outcome(); err != nil || o == nil || o.State != paddock.Lost {
			t.Errorf("outcome of %s: %v, %v", id, o, err)
		}
	}
	if ids, err := s.ListActive(); err != nil || !slices.Equal(ids, []paddock.RunID{alive.ID()}) {
		t.Errorf("ListActive = %v, %v; want only the run that is looked after", ids, err)
	}
}

func TestLockOutlivesItsMaker(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := start(t, s, 0, alice)
	supervisor := testproc.Self(t, "holder")
	supervisor.ExtraFiles = []*os.File{d.Lock()}
	in, err := supervisor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := supervisor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	var ready string
	if _, err := fmt.Fscan(out, &ready); err != nil {
		t.Fatal(err)
	}
	if err := testproc.Alone(d.ReleaseLock); err != nil {
		t.Fatal(err)
	}
	if d.Lock() != nil {
		t.Error("Lock after ReleaseLock")
	}
	if lost := reconcile(t, s); lost != nil || active(t, s, alice) != 1 {
		t.Errorf("a run was judged while its supervisor lives: %v", lost)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := supervisor.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := active(t, s, alice); n != 0 {
		t.Errorf("%d active runs without a supervisor", n)
	}
	if lost := reconcile(t, s); len(lost) != 1 {
		t.Errorf("lost after the supervisor's death: %v", lost)
	}
}

// A sweeper that comes between making a directory and locking it must not take
// it from under its maker.
func TestSweeperMeetsMaker(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"made", "lock-made"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			other := openAt(t, s.Path())
			met := false
			s.step = func(now string) {
				if now == step && !met {
					met = true
					reconcile(t, other)
				}
			}
			d := prepare(t, s, newID(t, 0), intent(alice))
			if !met {
				t.Fatal("the sweeper never came")
			}
			s.step = func(string) { reconcile(t, other) }
			if err := s.Claim(t.Context(), func(c *Claim) error {
				s.step = nil // the sweeper would wait for the claim
				return c.Publish(d, "")
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Record(clock()); err != nil {
				t.Error(err)
			}
			if d.Path() != s.PathOf(d.ID()) {
				t.Errorf("published at %s", d.Path())
			}
		})
	}
}

func TestPublishFailsCleanly(t *testing.T) {
	t.Parallel()
	s := open(t)
	first := start(t, s, 0, alice)
	publish(t, s, prepare(t, s, newID(t, 1), intent(alice)), "used")
	blocked := prepare(t, s, newID(t, 2), intent(alice))
	write(t, filepath.Join(s.index.Owned(record.Hash(alice)), string(blocked.ID())), "in the way")
	for name, try := range map[string]struct {
		d   *Dir
		key string
	}{
		"a published run":     {first, ""},
		"a key in use":        {prepare(t, s, newID(t, 3), intent(alice)), "used"},
		"an entry in the way": {blocked, "fresh"},
	} {
		if err := s.Claim(t.Context(), func(c *Claim) error { return c.Publish(try.d, try.key) }); err == nil {
			t.Errorf("%s was published", name)
		}
	}
	if n := active(t, s, alice); n != 2 {
		t.Errorf("%d active runs, want the two that were published", n)
	}
	claim(t, s, func(c *Claim) error {
		if _, _, found, err := c.Key(alice, "fresh"); found || err != nil {
			t.Errorf("the key of a run that wasn't published: %v, %v", found, err)
		}
		return nil
	})
	if got := names(t, filepath.Join(s.Path(), links.KeysDir)); len(got) != 1 {
		t.Errorf("keys left: %v", got)
	}
}

func TestPrepareStopsWhenAsked(t *testing.T) {
	t.Parallel()
	s := open(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := s.Prepare(canceled, newID(t, 0), intent(alice)); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare = %v, %v", d, err)
	}
	if left := names(t, filepath.Join(s.Path(), tmpDir)); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
