//go:build linux

package rundir

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/process"
	"paddock/internal/testproc"
)

func TestReconcileEvidence(t *testing.T) {
	t.Parallel()
	self, err := ProcessOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	gone := self
	gone.StartTicks++
	earlier := paddock.Process{PID: 1, StartTicks: 1, BootID: "an earlier start"}
	const alone = "nobody held the run's lock and there was no outcome"
	for _, c := range []struct {
		name       string
		supervisor *paddock.Process
		kind       paddock.ReasonKind
		then       string
		alive      bool
		note       string
	}{
		{"vanished", &gone, paddock.ReasonLost, process.BootID(), false, alone},
		{"there without its lock", &self, paddock.ReasonLost, process.BootID(), true, alone},
		{"restarted", &earlier, paddock.ReasonHost, "an earlier start", false, alone},
		{"never started", nil, paddock.ReasonLost, process.BootID(), false, alone + "; the program was never said to have started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			d := orphan(t, s, 0, alice)
			if c.supervisor != nil {
				if err := d.WriteStarted(Started{Supervisor: *c.supervisor, At: epoch}); err != nil {
					t.Fatal(err)
				}
			}
			write(t, file(d, "stdout"), "kept")
			if lost := reconcile(t, s); !slices.Equal(lost, []paddock.RunID{d.ID()}) {
				t.Fatalf("lost: %v", lost)
			}
			got, err := d.Outcome()
			if err != nil {
				t.Fatal(err)
			}
			want := &paddock.Outcome{
				State: paddock.Lost, EndedAt: clock(), SettledAt: clock(),
				Reason: paddock.Reason{Kind: c.kind, Evidence: &paddock.Evidence{
					SeenAt: clock(), BootIDThen: c.then, BootIDNow: process.BootID(), Supervisor: c.supervisor, SupervisorAlive: c.alive, Note: c.note,
				}},
				Stdout: paddock.StreamSummary{Bytes: 4, Digest: paddock.DigestOf(sha256.Sum256([]byte("kept")))},
				Stderr: paddock.StreamSummary{Digest: paddock.DigestOf(sha256.Sum256(nil))},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if r, err := d.Record(clock()); err != nil || r.State != paddock.Lost {
				t.Errorf("Record = %v, %v", r.State, err)
			}
		})
	}
}

// A run is settled also when its files are a mess, and says so.
func TestReconcileOfAMess(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := orphan(t, s, 0, alice)
	write(t, file(d, "request.json"), "{")
	write(t, file(d, "started.json"), "")
	if err := os.Symlink("/dev/zero", file(d, "stdout")); err != nil {
		t.Fatal(err)
	}
	if lost := reconcile(t, s); len(lost) != 1 {
		t.Fatalf("lost: %v", lost)
	}
	o, err := d.Outcome()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"request.json", "started.json"} {
		if !strings.Contains(o.Reason.Evidence.Note, file(d, name)) {
			t.Errorf("the evidence doesn't tell of %s: %s", name, o.Reason.Evidence.Note)
		}
	}
	if !strings.Contains(o.Reason.Detail, file(d, "stdout")) || o.Stdout.Digest != "" {
		t.Errorf("unreadable output: %q, %v", o.Reason.Detail, o.Stdout)
	}
}

// One entry that can't be judged doesn't keep others from it.
func TestReconcileGoesOn(t *testing.T) {
	t.Parallel()
	s := open(t)
	bad := orphan(t, s, 0, alice)
	write(t, s.index.Active(bad.ID()), "")
	good := orphan(t, s, 1, alice)
	lost, err := s.Reconcile(t.Context(), clock)
	if !slices.Equal(lost, []paddock.RunID{good.ID()}) || err == nil || !strings.Contains(err.Error(), s.index.Active(bad.ID())) {
		t.Errorf("Reconcile = %v, %v", lost, err)
	}
}

func TestReconcileKeepsWhatIsLookedAfter(t *testing.T) {
	t.Parallel()
	s := open(t)
	alive, settled := start(t, s, 0, alice), start(t, s, 1, alice)
	settle(t, settled)
	prepared := prepare(t, s, newID(t, 2), intent(alice))
	if lost := reconcile(t, s); lost != nil {
		t.Errorf("lost: %v", lost)
	}
	if o, err := alive.Outcome(); o != nil || err != nil {
		t.Errorf("a live run has an outcome: %v, %v", o, err)
	}
	if _, err := prepared.Sealed(); err != nil {
		t.Errorf("a run that is being prepared was swept: %v", err)
	}
	if left := names(t, filepath.Join(s.Path(), links.ActiveDir)); !slices.Equal(left, []string{string(alive.ID())}) {
		t.Errorf("active: %v", left)
	}
}

// Who removes a lock file doesn't get a live run taken for lost.
func TestReconcileWithoutLockFile(t *testing.T) {
	t.Parallel()
	s := open(t)
	self, err := ProcessOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	watched, dead := start(t, s, 0, alice), start(t, s, 1, alice)
	for _, d := range []*Dir{watched, dead} {
		if err := os.Remove(file(d, "lock")); err != nil {
			t.Fatal(err)
		}
	}
	if err := watched.WriteStarted(Started{Supervisor: self}); err != nil {
		t.Fatal(err)
	}
	if n := active(t, s, alice); n != 1 {
		t.Errorf("%d active runs", n)
	}
	if lost := reconcile(t, s); !slices.Equal(lost, []paddock.RunID{dead.ID()}) {
		t.Errorf("lost: %v", lost)
	}
}

func TestReconcileStopsWhenAsked(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := orphan(t, s, 0, alice)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if lost, err := s.Reconcile(ctx, clock); lost != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Reconcile = %v, %v", lost, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	stop := func() time.Time { cancel(); return clock() }
	if lost, err := s.Reconcile(ctx, stop); lost != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Reconcile, stopped midway = %v, %v", lost, err)
	}
	if o, err := d.Outcome(); o != nil || err != nil {
		t.Errorf("a run was settled half judged: %v, %v", o, err)
	}
	if lost := reconcile(t, s); len(lost) != 1 {
		t.Errorf("afterwards: %v", lost)
	}
}

// What a supervisor has in the directory while it lives goes with it, whether it
// was ended before the outcome or after.
func TestReconcileTidies(t *testing.T) {
	t.Parallel()
	for _, settled := range []bool{false, true} {
		t.Run(fmt.Sprintf("settled is %v", settled), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.OnEnd(func(d *Dir) error { return d.MarkNoted(0) })
			d := orphan(t, s, 0, alice)
			if settled {
				if _, err := d.PublishOutcome(paddock.Outcome{State: paddock.Exited, SettledAt: epoch}); err != nil {
					t.Fatal(err)
				}
			}
			passing := []string{"reserve", "control", ".new-0123456789abcdef"}
			for _, name := range append(passing, "stdout") {
				write(t, file(d, name), "kept")
			}
			reconcile(t, s)
			left := names(t, d.Path())
			for _, name := range passing {
				if slices.Contains(left, name) {
					t.Errorf("%s is left", name)
				}
			}
			if !slices.Contains(left, "stdout") || !slices.Contains(left, "outcome.json") {
				t.Errorf("only %q is left", left)
			}
		})
	}
}

// One who settles a run can be ended, too, and a settled run is nobody's
// business any more: what is outside of its directory goes first.
func TestOnLostComesBeforeTheOutcome(t *testing.T) {
	t.Parallel()
	s := open(t)
	d := orphan(t, s, 0, alice)
	var told []paddock.RunID
	refused := errors.New("busy")
	deeper := &paddock.Deeper{Looked: 3, Unlooked: "elsewhere"}
	s.OnLost(func(d *Dir) (*paddock.Deeper, error) {
		if outcome, err := d.Outcome(); outcome != nil || err != nil {
			t.Errorf("settled already: %+v, %v", outcome, err)
		}
		told = append(told, d.ID())
		return deeper, refused
	})
	lost, err := s.Reconcile(t.Context(), clock)
	if want := []paddock.RunID{d.ID()}; !errors.Is(err, refused) || !slices.Equal(lost, want) || !slices.Equal(told, want) {
		t.Errorf("lost %v, told %v, %v", lost, told, err)
	}
	if o, err := d.Outcome(); err != nil || o.Deeper == nil || o.Deeper.Unlooked != "elsewhere" {
		t.Errorf("what was found isn't told: %+v, %v", o, err)
	}
	if lost, err = s.Reconcile(t.Context(), clock); lost != nil || err != nil || len(told) != 1 {
		t.Errorf("again: lost %v, told %v, %v", lost, told, err)
	}
}

// What was made for a run that never came to be isn't in its directory, which says where it
// may be; nothing is told of one that is still being made.
func TestOnUnborn(t *testing.T) {
	t.Parallel()
	s := open(t)
	rec := intent(alice)
	rec.Root = "/some/where\nelse \xff"
	dead, alive, plain := prepare(t, s, newID(t, 0), rec), prepare(t, s, newID(t, 1), rec), prepare(t, s, newID(t, 2), intent(alice))
	if err := errors.Join(testproc.Alone(dead.ReleaseLock), testproc.Alone(plain.ReleaseLock)); err != nil {
		t.Fatal(err)
	}
	told := map[paddock.RunID]string{}
	s.OnUnborn(func(id paddock.RunID, root string) { told[id] = root })
	if err := os.Mkdir(filepath.Join(s.Path(), tmpDir, "no run"), 0o700); err != nil {
		t.Fatal(err)
	}
	reconcile(t, s)
	if want := map[paddock.RunID]string{dead.ID(): rec.Root, plain.ID(): ""}; !maps.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if left := names(t, filepath.Join(s.Path(), tmpDir)); !slices.Equal(left, []string{string(alive.ID())}) {
		t.Errorf("left %q", left)
	}
	if err := alive.Abandon(); err != nil {
		t.Fatal(err)
	}
}

// A file that was to be placed in the state directory is taken away once nobody
// can be about to.
func TestReconcileTakesOldFilesAway(t *testing.T) {
	t.Parallel()
	s := open(t)
	old, fresh := filepath.Join(s.Path(), ".new-0123456789abcdef"), filepath.Join(s.Path(), ".new-fedcba9876543210")
	write(t, old, "{")
	write(t, fresh, "{")
	if err := os.Chtimes(old, epoch, epoch); err != nil {
		t.Fatal(err)
	}
	reconcile(t, s)
	if left := names(t, s.Path()); slices.Contains(left, filepath.Base(old)) || !slices.Contains(left, filepath.Base(fresh)) {
		t.Errorf("left: %q", left)
	}
}
