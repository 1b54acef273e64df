//go:build linux

package notes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, map[string]func() int{"returns": returns}) }

var alice = paddock.Principal{Kind: paddock.Agent, ID: "alice"}

type world struct {
	*Notes
	t        testing.TB
	state    *rundir.State
	clock    time.Time
	warnings []error
	broken   error // what the disk says to every write
}

func open(t testing.TB) *world {
	t.Helper()
	state, err := rundir.Open(filepath.Join(t.TempDir(), "state"))
	must(t, err)
	w := &world{t: t, state: state, clock: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	w.Notes, err = Open(t.Context(), state, func() time.Time { return w.clock }, func(err error) { w.warnings = append(w.warnings, err) },
		writer.Options{SegmentSize: 2 << 10, Step: func(string) error { return w.broken }})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(w.Close(), state.Close())) })
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// told returns the kinds of the entries, without those that only frame them. The
// journal must be whole.
func (w *world) told() (kinds []string) {
	w.t.Helper()
	r, err := audit.Run(w.t.Context(), w.Dir(), audit.Options{Each: func(e journal.Entry) error {
		if e.Kind != journal.Begin && e.Kind != journal.Rotate {
			kinds = append(kinds, string(e.Kind))
		}
		return nil
	}})
	must(w.t, err)
	if !r.Whole() {
		w.t.Fatalf("%v", r.Faults)
	}
	return kinds
}

func intent() rundir.Intent {
	req := paddock.Request{Principal: alice, Door: paddock.DoorMCP, Command: paddock.Command{Argv: []string{"go", "vet"}}}
	return rundir.Intent{Request: req, Decision: paddock.Decision{
		Effect: paddock.Allow, RequestDigest: req.Digest(), PolicyDigest: paddock.DigestOf([32]byte{1}),
		Granted: paddock.Gives(&paddock.Grant{Argv: req.Command.Argv, Dir: "/srv"}),
	}}
}

func (w *world) newID() paddock.RunID {
	w.t.Helper()
	id, err := paddock.NewRunID(w.clock, nil)
	must(w.t, err)
	return id
}

// run makes a run whose supervisor is gone, with an outcome if it has one.
func (w *world) run(outcome *paddock.Outcome) *rundir.Dir {
	w.t.Helper()
	dir, err := w.Prepare(w.t.Context(), w.state, w.newID(), intent())
	must(w.t, err)
	must(w.t, w.state.Claim(w.t.Context(), func(c *rundir.Claim) error { return c.Publish(dir, "") }))
	if outcome != nil {
		_, err := dir.PublishOutcome(*outcome)
		must(w.t, err)
	}
	return dir
}

func want(t testing.TB, got []string, want string) {
	t.Helper()
	if strings.Join(got, " ") != want {
		t.Errorf("told %q, want %q", got, want)
	}
}

// Whoever comes after a crash tells the ends that nobody told, once each.
func TestEveryRunHasOneEnd(t *testing.T) {
	t.Parallel()
	w := open(t)
	exited := &paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}}
	lost := w.run(nil)        // its supervisor vanished
	silent := w.run(exited)   // … after the outcome
	unmarked := w.run(exited) // … after the journal
	must(t, w.w.Append(t.Context(), journal.EndOf(unmarked.ID(), *exited, nil, "", "")))
	want(t, w.told(), "policy start start start end")
	count := func() int {
		active, err := os.ReadDir(filepath.Join(w.state.Path(), "active"))
		must(t, err)
		return len(active)
	}
	// While somebody has the lock nobody else tells anything.
	must(t, w.state.Claim(t.Context(), func(c *rundir.Claim) error { _, err := c.Active(alice); return err }))
	if n := count(); n != 3 {
		t.Errorf("%d active entries", n)
	}
	for _, dir := range []*rundir.Dir{silent, unmarked} {
		must(t, testproc.Alone(dir.ReleaseLock))
	}
	w.broken = unix.ENOSPC
	if _, err := w.state.Reconcile(t.Context(), w.now); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("what can't be told is no fault: %v", err)
	}
	if n := count(); n != 2 { // one was told before
		t.Errorf("%d active entries while nothing can be told", n)
	}
	w.broken = nil
	for range 2 {
		_, err := w.state.Reconcile(t.Context(), w.now)
		must(t, err)
	}
	want(t, w.told(), "policy start start start end end")
	if n := count(); n != 1 { // the first one's lock is still ours
		t.Errorf("%d active entries", n)
	}
	runtime.KeepAlive(lost) // collected, it would let go of its lock
}

func TestALostRunIsToldOf(t *testing.T) {
	t.Parallel()
	w := open(t)
	must(t, testproc.Alone(w.run(nil).ReleaseLock))
	lost, err := w.state.Reconcile(t.Context(), w.now)
	must(t, err)
	if len(lost) != 1 {
		t.Fatalf("lost %v", lost)
	}
	want(t, w.told(), "policy start end")
	if noted, err := must2(w.state.Run(lost[0])).Noted(); !noted || err != nil {
		t.Errorf("noted %v, %v", noted, err)
	}
}

func must2(dir *rundir.Dir, err error) *rundir.Dir {
	if err != nil {
		panic(err)
	}
	return dir
}

// The end is looked for in every segment since the start, and in none before.
func TestAnEndInAnOlderSegment(t *testing.T) {
	t.Parallel()
	w := open(t)
	exited := &paddock.Outcome{State: paddock.Exited, Reason: paddock.Reason{Kind: paddock.ReasonExit}}
	dir := w.run(exited)
	must(t, w.w.Append(t.Context(), journal.EndOf(dir.ID(), *exited, nil, "", "")))
	for range 20 {
		w.tell(t.Context(), journal.KillOf("r", "kill", "TERM", "x", strings.Repeat("x", 300)))
	}
	must(t, testproc.Alone(dir.ReleaseLock))
	_, err := w.state.Reconcile(t.Context(), w.now)
	must(t, err)
	if kinds := strings.Join(w.told(), " "); strings.Count(kinds, "end") != 1 {
		t.Error(kinds)
	}
}

func TestAStartThatCanNotBeTold(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.broken = unix.EIO
	if dir, err := w.Prepare(t.Context(), w.state, w.newID(), intent()); !errors.Is(err, unix.EIO) || dir != nil {
		t.Errorf("%v, %v", dir, err)
	}
	if left, err := os.ReadDir(filepath.Join(w.state.Path(), "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	w.broken = nil
	must(t, os.Remove(filepath.Join(w.state.Path(), "tmp")))
	if _, err := w.Prepare(t.Context(), w.state, w.newID(), intent()); err == nil {
		t.Error("a run was prepared where it can't be")
	}
	want(t, w.told(), "policy start abandoned")
}

func TestAnEndedContextDoesNotKeepAKillUntold(t *testing.T) {
	t.Parallel()
	w := open(t)
	dir := w.run(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Kill(ctx, dir, paddock.ReasonKill, "TERM", "alice", "enough")
	w.broken = unix.ENOSPC
	w.Kill(ctx, dir, paddock.ReasonKill, "KILL", "alice", "enough")
	w.broken = nil
	want(t, w.told(), "policy start kill")
	if len(w.warnings) != 1 || !errors.Is(w.warnings[0], unix.ENOSPC) {
		t.Errorf("warned of %v", w.warnings)
	}
	// Nobody asks for the end of what has ended.
	_, err := w.NeverStarted(t.Context(), dir, paddock.FailedToStart, paddock.Reason{Kind: paddock.ReasonStart})
	must(t, err)
	w.Kill(t.Context(), dir, paddock.ReasonKill, "KILL", "alice", "enough")
	want(t, w.told(), "policy start kill end")
}

func TestManyRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	w := open(t)
	refuse := func(p paddock.Principal, code paddock.Code, times int) {
		for range times {
			req := paddock.Request{Principal: p, Command: paddock.Command{Argv: []string{"rm"}}}
			w.Refused(t.Context(), req, paddock.DigestOf([32]byte{2}), paddock.Refused(code, "No."))
		}
	}
	bob := paddock.Principal{Kind: paddock.Agent, ID: "bob"}
	refuse(alice, paddock.Busy, 1000)
	refuse(alice, paddock.RuleDenied, 5)
	refuse(bob, paddock.Busy, 2)
	if n := len(w.told()); n != 1+oneByOne+2 {
		t.Errorf("%d entries", n)
	}
	must(t, w.Flush(t.Context()))
	if n := len(w.told()); n != 1+oneByOne+2 {
		t.Errorf("%d entries before the window is over", n)
	}
	w.clock = w.clock.Add(window)
	refuse(bob, paddock.Busy, 1)
	must(t, w.Flush(t.Context()))
	must(t, w.Flush(t.Context()))
	var sums []journal.Entry
	_, err := audit.Run(t.Context(), w.Dir(), audit.Options{Each: func(e journal.Entry) error {
		if e.Kind == journal.Refusals {
			sums = append(sums, e)
		}
		return nil
	}})
	must(t, err)
	if len(sums) != 1 || *sums[0].Principal != alice || sums[0].Refusals.Codes[paddock.Busy] != 1000-oneByOne || sums[0].Refusals.Codes[paddock.RuleDenied] != 5 {
		t.Errorf("%+v", sums)
	}
	refuse(alice, paddock.Busy, 1)
	if n := len(w.told()); n != 1+oneByOne+2+1+1+1 {
		t.Errorf("%d entries", n)
	}
	if len(w.warnings) > 0 {
		t.Error(w.warnings)
	}
}

// What somebody made of a count is one that says nothing.
func TestHostileTallies(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := w.tallyPath(alice)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	for i, text := range []string{"", "null", "[]", `{"told":"x"}`, `{"from":"x"}`, "\xff\x00", `{"told":-5,"from":"9999-01-01T00:00:00Z"}`, strings.Repeat(" ", 1<<20)} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		w.Refused(t.Context(), paddock.Request{Principal: alice}, "", paddock.Refused(paddock.ArgvEmpty, "No %d.", i))
		if n := len(w.told()); n != i+1 {
			t.Fatalf("%q: %d entries", text, n)
		}
	}
	must(t, os.Remove(path))
	must(t, unix.Mkfifo(path, 0o600))
	w.Refused(t.Context(), paddock.Request{Principal: alice}, "", paddock.Refused(paddock.ArgvEmpty, "No."))
	if len(w.warnings) != 1 {
		t.Errorf("warned of %v", w.warnings)
	}
}

func TestAPolicyIsToldOfOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	for i := range 4 {
		id := paddock.RunID("r" + strconv.Itoa(i))
		rec := intent()
		rec.Decision.PolicyDigest = paddock.DigestOf([32]byte{byte(i % 2)})
		must(t, w.Start(t.Context(), id, rec.Request, rec.Decision))
	}
	other, err := Open(t.Context(), w.state, w.now, w.warn, writer.Options{})
	must(t, err)
	must(t, other.Start(t.Context(), "r4", intent().Request, intent().Decision))
	must(t, other.Close())
	want(t, w.told(), "policy start policy start start start start")
}

// Reads without masks are told before they are made, and those that follow together.
func TestUnmaskedReadsAreToldTogether(t *testing.T) {
	t.Parallel()
	w := open(t)
	dir := w.newID()
	read := func(by paddock.Principal, s paddock.Stream, from, to int64) {
		must(t, w.Unmasked(t.Context(), by, dir, s, from, to))
	}
	read(alice, paddock.Stdout, 0, 10)
	want(t, w.told(), "unmasked")
	for i := int64(1); i < 1000; i++ {
		read(alice, paddock.Stdout, 10*i, 10*i+10)
	}
	read(alice, paddock.Stderr, 0, 5)
	read(paddock.Principal{Kind: paddock.Host, ID: "bob"}, paddock.Stdout, 0, 5)
	want(t, w.told(), "unmasked unmasked unmasked")
	must(t, w.Flush(t.Context()))
	want(t, w.told(), "unmasked unmasked unmasked")
	w.clock = w.clock.Add(2 * window)
	must(t, w.Flush(t.Context()))
	want(t, w.told(), "unmasked unmasked unmasked unmasked")
	read(alice, paddock.Stdout, 0, 10)
	read(alice, paddock.Stdout, 10, 20)
	must(t, w.glances(t.Context(), true))
	want(t, w.told(), "unmasked unmasked unmasked unmasked unmasked unmasked")
	must(t, w.glances(t.Context(), true))
	want(t, w.told(), "unmasked unmasked unmasked unmasked unmasked unmasked")
}
