//go:build linux

package retain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"pruner": pruner})
}

var (
	alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}
	epoch = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

// house is a state directory whose clock stands a day after epoch. told are the
// journal's entries.
type house struct {
	Keeper
	t    testing.TB
	told []journal.Entry
	keys map[int]bool
	root string // of the runs that are made; empty means /srv/checkout
}

func keeper(path string) (Keeper, error) {
	s, err := rundir.Open(path)
	return Keeper{
		State: s, By: "operator:uid=7",
		Now:  func() time.Time { return epoch.Add(24 * time.Hour) },
		Tell: func(context.Context, journal.Entry) error { return nil },
	}, err
}

func open(t testing.TB) *house {
	t.Helper()
	k, err := keeper(filepath.Join(t.TempDir(), "state"))
	must(t, err)
	h := &house{Keeper: k, t: t, keys: map[int]bool{}}
	h.Tell = func(_ context.Context, e journal.Entry) error {
		h.told = append(h.told, e)
		return nil
	}
	t.Cleanup(func() { must(t, h.State.Close()) })
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// running makes a run that began n hours after epoch and printed size bytes.
func (h *house) running(n, size int) *rundir.Dir {
	h.t.Helper()
	at := epoch.Add(time.Duration(n) * time.Hour)
	id, err := paddock.NewRunID(at, nil)
	must(h.t, err)
	req := paddock.Request{Principal: alice, Door: paddock.DoorMCP, IdempotencyKey: h.key(n), Command: paddock.Command{Argv: []string{"go", "vet"}}}
	d, err := h.State.Prepare(h.t.Context(), id, rundir.Intent{Request: req, CreatedAt: at, Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Root: cmp.Or(h.root, "/srv/checkout"), Dir: "/srv/checkout"}),
	}})
	must(h.t, err)
	must(h.t, h.State.Claim(h.t.Context(), func(c *rundir.Claim) error { return c.Publish(d, req.IdempotencyKey) }))
	must(h.t, os.WriteFile(filepath.Join(d.Path(), "stdout"), make([]byte, size), 0o600))
	for _, name := range []string{"frames", "stdin", "stderr"} {
		must(h.t, os.WriteFile(filepath.Join(d.Path(), name), nil, 0o600))
	}
	return d
}

// noted is how much output is noted as kept.
func (h *house) noted() (kept int64) {
	h.t.Helper()
	must(h.t, h.State.Claim(h.t.Context(), func(c *rundir.Claim) error {
		used, err := h.books().Look(h.t.Context(), c, alice, h.Now())
		if kept = used.Total.Kept; kept != used.Principal.Kept {
			h.t.Errorf("of all %d bytes are noted, and of the only principal %d", kept, used.Principal.Kept)
		}
		return err
	}))
	return kept
}

// key is the idempotency key of the first run that began after n hours; there is
// none for others.
func (h *house) key(n int) string {
	if h.keys[n] {
		return ""
	}
	h.keys[n] = true
	return fmt.Sprint("key ", n)
}

// ended is running for a run that ended when it began, and of which all is told.
func (h *house) ended(n, size int) *rundir.Dir {
	h.t.Helper()
	d := h.running(n, size)
	at := epoch.Add(time.Duration(n) * time.Hour)
	_, err := d.PublishOutcome(paddock.Outcome{
		State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}, EndedAt: at, SettledAt: at,
		Stdout: paddock.StreamSummary{Bytes: int64(size)},
	})
	must(h.t, err)
	must(h.t, testproc.Alone(d.ReleaseLock))
	h.settle()
	return d
}

// settle has ends told that nobody told yet.
func (h *house) settle() {
	h.t.Helper()
	must(h.t, h.State.Claim(h.t.Context(), func(c *rundir.Claim) error {
		_, err := c.Active(alice)
		return err
	}))
}

// pass goes over all runs, in steps of two, and returns what was removed.
func (k *Keeper) pass(t testing.TB, l Limits) (items []Item) {
	t.Helper()
	var p Pass
	for !p.Done {
		must(t, k.Step(t.Context(), &p, l, 2, func(i Item) error {
			items = append(items, i)
			return nil
		}))
	}
	return items
}

// left says of each run whether it has its output (o), only its record (r) or
// nothing (-).
func (h *house) left(dirs ...*rundir.Dir) string {
	h.t.Helper()
	var out strings.Builder
	for _, d := range dirs {
		run, err := d.Record(h.Now())
		_, stdout := os.Lstat(filepath.Join(d.Path(), "stdout"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out.WriteByte('-')
		case err != nil:
			h.t.Fatal(err)
		case run.Pruned == nil && stdout == nil:
			out.WriteByte('o')
		case run.Pruned != nil && errors.Is(stdout, fs.ErrNotExist):
			out.WriteByte('r')
		default:
			h.t.Fatalf("%s: pruned %v, stdout %v", d.Path(), run.Pruned, stdout)
		}
	}
	return out.String()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits Limits
		left   string // of the runs 0 (oldest) to 5, of 100 bytes each; 2 is kept, 4 goes on
		reason paddock.PruneReason
	}{
		{Limits{}, "oooooo", ""},
		{Limits{Age: 22 * time.Hour}, "rroooo", paddock.PruneAge},
		{Limits{Age: 24 * time.Hour}, "oooooo", ""}, // as old as it may be
		{Limits{Runs: 2}, "rroooo", paddock.PruneRuns},
		{Limits{Runs: 4}, "oooooo", ""},
		{Limits{Size: 199}, "rroroo", paddock.PruneSize}, // 3 would make it 200
		{Limits{Size: 200}, "rroooo", paddock.PruneSize},
		{Limits{Size: 1}, "rroror", paddock.PruneSize},
		{Limits{Records: 22 * time.Hour}, "--oooo", paddock.PruneRecords},
		{Limits{Records: 24 * time.Hour}, "oooooo", ""},
	} {
		t.Run(fmt.Sprint(c.limits), func(t *testing.T) {
			t.Parallel()
			h := open(t)
			var dirs []*rundir.Dir
			for i := range 6 {
				d := h.running
				if i != 4 {
					d = h.ended
				}
				dirs = append(dirs, d(i, 100))
			}
			t.Cleanup(func() { must(t, dirs[4].ReleaseLock()) })
			_, err := h.Keep(t.Context(), dirs[2].ID())
			must(t, err)
			dry := h.Keeper
			dry.Dry = true
			would := dry.pass(t, c.limits)
			if got := h.left(dirs...); got != "oooooo" || h.told != nil {
				t.Fatalf("a dry pass left %s and told %v", got, h.told)
			}
			items := h.pass(t, c.limits)
			if diff := gocmp.Diff(would, items); diff != "" {
				t.Errorf("what was said (-) and done (+):\n%s", diff)
			}
			if got := h.left(dirs...); got != c.left {
				t.Errorf("left %s, want %s", got, c.left)
			}
			for i, item := range items {
				if item.Reason != c.reason || item.Bytes != 100 || item.Record != (c.reason == paddock.PruneRecords) {
					t.Errorf("%+v", item)
				}
				told := h.told[i]
				if told.Kind != journal.Prune || told.Run != item.Run || told.Prune.Reason != item.Reason || told.Prune.By != h.By || told.Prune.Record != item.Record {
					t.Errorf("told %+v", told)
				}
			}
			if again := h.pass(t, c.limits); again != nil || len(h.told) != len(items) {
				t.Errorf("a second pass removed %v", again)
			}
		})
	}
}

// What was asked and how it ended stays, and so does the idempotency key until
// the record goes; then no entry is left.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.ended(0, 100)
	before, err := d.Record(h.Now())
	must(t, err)
	if h.pass(t, Limits{Age: time.Hour}) == nil {
		t.Fatal("nothing was removed")
	}
	after, err := d.Record(h.Now())
	must(t, err)
	want := before
	want.Pruned = &paddock.Pruning{At: h.Now(), Reason: paddock.PruneAge, By: h.By, Bytes: 100}
	if diff := gocmp.Diff(want, after); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	key := func() (found bool) {
		must(t, h.State.Claim(t.Context(), func(c *rundir.Claim) (err error) {
			_, _, found, err = c.Key(alice, "key 0")
			return err
		}))
		return found
	}
	if !key() {
		t.Error("the idempotency key is gone with the output")
	}
	if _, err := h.Keep(t.Context(), d.ID()); code(err) != paddock.Pruned {
		t.Errorf("keeping what is gone: %v", err)
	}
	h.pass(t, Limits{Records: time.Hour})
	if key() || h.left(d) != "-" {
		t.Error("the key or the record is still there")
	}
	if _, finished, err := h.State.Unseen(alice); finished != 0 || err != nil {
		t.Errorf("%d ends of runs that are gone count as unread, %v", finished, err)
	}
	for _, dir := range []string{"keys", "tmp", "runs", "active"} {
		if names, err := os.ReadDir(filepath.Join(h.State.Path(), dir)); err != nil || len(names) > 0 {
			t.Errorf("%s has %v, %v", dir, names, err)
		}
	}
}

func code(err error) paddock.Code {
	var r *paddock.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func TestNamed(t *testing.T) {
	t.Parallel()
	h := open(t)
	live, done := h.running(0, 5), h.ended(1, 5)
	t.Cleanup(func() { must(t, live.ReleaseLock()) })
	if _, err := h.Prune(t.Context(), live.ID()); code(err) != paddock.Conflict {
		t.Errorf("a run that goes on: %v", err)
	}
	if _, err := h.Keep(t.Context(), live.ID()); err != nil {
		t.Errorf("keeping a run that goes on: %v", err)
	}
	run, err := h.Keep(t.Context(), done.ID())
	if err != nil || run.Kept == nil || run.Kept.By != h.By {
		t.Errorf("Keep = %+v, %v", run.Kept, err)
	}
	if _, err := h.Prune(t.Context(), done.ID()); code(err) != paddock.Conflict {
		t.Errorf("a run that is kept: %v", err)
	}
	if run, err := h.Unkeep(t.Context(), done.ID()); err != nil || run.Kept != nil {
		t.Errorf("Unkeep = %+v, %v", run.Kept, err)
	}
	item, err := h.Prune(t.Context(), done.ID())
	if diff := gocmp.Diff(&Item{Run: done.ID(), Reason: paddock.PruneRequest, Bytes: 5}, item); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if item, err := h.Prune(t.Context(), done.ID()); item != nil || err != nil {
		t.Errorf("again: %v, %v", item, err)
	}
	if _, err := h.Prune(t.Context(), "r0000000000000000000000000a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such run: %v", err)
	}
	if got := h.left(live, done); got != "or" {
		t.Errorf("left %s", got)
	}
}

// Changes that nobody dealt with aren't output: neither they nor the record go.
func TestChangesStay(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.ended(0, 5)
	must(t, os.Mkdir(filepath.Join(d.Path(), "workspace"), 0o700))
	if items := h.pass(t, Limits{Records: time.Hour}); items != nil || h.left(d) != "o" {
		t.Errorf("removed %v", items)
	}
}

// What was put into quarantine is removed with the output, whatever a run made of it.
func TestQuarantineGoes(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Limits{"output": {Age: time.Hour}, "record": {Records: time.Hour}} {
		h := open(t)
		d := h.ended(0, 5)
		for _, stream := range []string{"stdout", "stderr", "stdin", "frames"} { // it counts by itself, too
			must(t, os.Remove(filepath.Join(d.Path(), stream)))
		}
		inner := filepath.Join(d.Path(), "quarantine", "1", "deep")
		must(t, errors.Join(os.MkdirAll(inner, 0o700), os.WriteFile(inner+"/x", make([]byte, 70), 0o600), os.Chmod(inner, 0)))
		items := h.pass(t, l)
		if len(items) != 1 || items[0].Bytes != 70 && os.Geteuid() == 0 {
			t.Errorf("%s: %+v", name, items)
		}
		if _, err := os.Lstat(filepath.Join(d.Path(), "quarantine")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is still there: %v", name, err)
		}
		if again := h.pass(t, l); again != nil {
			t.Errorf("%s: again: %v", name, again)
		}
	}
}

// A start that can't be told isn't one, and neither is a removal.
func TestUntoldStays(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.ended(0, 5)
	broken := errors.New("the disk is full")
	h.Tell = func(context.Context, journal.Entry) error { return broken }
	var p Pass
	for _, l := range []Limits{{Age: time.Hour}, {Records: time.Hour}} {
		p = Pass{}
		if err := h.Step(t.Context(), &p, l, 10, func(Item) error { return nil }); !errors.Is(err, broken) {
			t.Errorf("Step = %v", err)
		}
	}
	if h.left(d) != "o" {
		t.Error("it is gone")
	}
}

// A record that is damaged keeps no other run from being pruned.
func TestBrokenRecord(t *testing.T) {
	t.Parallel()
	h := open(t)
	old, broken, young := h.ended(0, 5), h.ended(1, 5), h.ended(2, 5)
	must(t, os.WriteFile(filepath.Join(broken.Path(), "outcome.json"), []byte("{"), 0o600))
	var p Pass
	err := h.Step(t.Context(), &p, Limits{Age: time.Hour, Records: 23 * time.Hour}, 10, func(Item) error { return nil })
	if err == nil || !strings.Contains(err.Error(), string(broken.ID())) {
		t.Errorf("Step = %v", err)
	}
	if got := h.left(old, young); got != "-r" || !p.Done {
		t.Errorf("left %s", got)
	}
	if _, err := os.Lstat(filepath.Join(broken.Path(), "stdout")); err != nil {
		t.Error(err)
	}
}

// Several who prune at once remove each thing once, and none is in another's way.
func TestTogether(t *testing.T) {
	t.Parallel()
	h := open(t)
	want := map[paddock.RunID]int{}
	for i := range 20 {
		want[h.ended(i, 5).ID()] = 1
	}
	var mu sync.Mutex
	got := map[paddock.RunID]int{}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			k, err := keeper(h.State.Path())
			if err != nil {
				t.Error(err)
				return
			}
			defer k.State.Close()
			var p Pass
			for !p.Done {
				if err := k.Step(t.Context(), &p, Limits{Age: time.Minute}, 3, func(i Item) error {
					mu.Lock()
					defer mu.Unlock()
					got[i.Run]++
					return nil
				}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// steps are what a pass over one run does, in order.
func steps(t *testing.T, l Limits) (steps []string) {
	t.Helper()
	h := open(t)
	h.ended(0, 5)
	h.At = func(step string) { steps = append(steps, step) }
	h.pass(t, l)
	return steps
}

// After a crash at any step the record is as it was or says that the output is
// gone, no other run is touched, and the next pass does the rest.
func TestCrashAfterEachStep(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]Limits{"output": {Age: 23 * time.Hour}, "record": {Records: 23 * time.Hour}} {
		list := steps(t, l)
		if slices.Contains(list, "marked") != (name == "output") || list[0] != "told" {
			t.Fatalf("steps %q", list)
		}
		for _, step := range list {
			t.Run(name+"/"+step, func(t *testing.T) {
				t.Parallel()
				h := open(t)
				old, other := h.ended(0, 5), h.ended(2, 5)
				before, err := old.Record(h.Now())
				must(t, err)
				if kept := h.noted(); kept != 10 {
					t.Errorf("%d bytes are noted as kept", kept)
				}
				limits, err := json.Marshal(l)
				must(t, err)
				cmd := testproc.Self(t, "pruner", h.State.Path(), step, string(limits))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				after, err := old.Record(h.Now())
				must(t, err)
				if step == "told" && after.Pruned != nil || step != "told" && (after.Pruned == nil || after.Pruned.Bytes != 5) {
					t.Errorf("pruned: %+v", after.Pruned)
				}
				after.Pruned = nil
				if diff := gocmp.Diff(before, after); diff != "" {
					t.Errorf("the record (-before +after):\n%s", diff)
				}
				h.pass(t, l)
				if kept := h.noted(); kept != 5 {
					t.Errorf("%d bytes are noted as kept", kept)
				}
				want := map[string]string{"output": "ro", "record": "-o"}[name]
				if got := h.left(old, other); got != want {
					t.Errorf("left %s, want %s", got, want)
				}
				if bytes, files, err := prune.Size(old.Path()); bytes != 0 || files != 0 || err != nil {
					t.Errorf("%d files of %d bytes are left, %v", files, bytes, err)
				}
			})
		}
	}
}

// pruner makes a pass and dies after the step that it is told.
func pruner() int {
	k, err := keeper(os.Args[1])
	var l Limits
	if err == nil {
		err = json.Unmarshal([]byte(os.Args[3]), &l)
	}
	if err == nil {
		k.At = func(step string) {
			if step == os.Args[2] {
				os.Exit(0)
			}
		}
		var p Pass
		err = k.Step(context.Background(), &p, l, 100, func(Item) error { return nil })
	}
	fmt.Println("the step never came:", err)
	return 1
}

// Days go with their last record while others list, and nobody stumbles.
func TestListWhileRemoving(t *testing.T) {
	t.Parallel()
	h := open(t)
	old := h.ended(-48, 5) // on a day of its own
	young := h.ended(20, 5)
	day := filepath.Dir(old.Path())
	var seen []int
	h.At = func(string) {
		runs, _, err := h.State.List("", 10, rundir.Wanted{})
		must(t, err)
		seen = append(seen, len(runs))
	}
	runs, next, err := h.State.List("", 1, rundir.Wanted{})
	h.pass(t, Limits{Records: 24 * time.Hour})
	if rest, last, err := h.State.List(next, 10, rundir.Wanted{}); next != young.ID() || len(rest) > 0 || last != "" || err != nil {
		t.Errorf("after %q %d more runs, %q, %v", next, len(rest), last, err)
	}
	if err != nil || len(runs) != 1 || runs[0].ID != young.ID() || len(seen) == 0 {
		t.Errorf("listed %d runs, %v; %v on the way", len(runs), err, seen)
	}
	if _, err := os.Lstat(day); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", day, err)
	}
}
