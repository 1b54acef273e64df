//go:build linux

package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/control"
	"paddock/internal/control/handover"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"starter": starterMain})
}

// A fixture is one run to be supervised in this process.
type fixture struct {
	t     *testing.T
	state *rundir.State
	dir   *rundir.Dir
	job   Job
	files Files
	clock *handClock
	ours  net.Conn // the caller's end of the connection
	their net.Conn
	self  string // see Options
	now   func() time.Time
	boot  func() time.Duration
	done  chan error
	// mayFail is set where something can't be written down, by intent.
	mayFail bool
}

// A handClock lets a test say when a timer fires. Timers are known by their
// length.
type handClock struct {
	mu     sync.Mutex
	timers map[time.Duration][]chan time.Time
	set    sync.Cond
}

func newHandClock() *handClock {
	c := &handClock{timers: map[time.Duration][]chan time.Time{}}
	c.set.L = &c.mu
	return c
}

func (c *handClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.timers[d] = append(c.timers[d], ch)
	c.set.Broadcast()
	return ch
}

// await waits until a timer of length d is set.
func (c *handClock) await(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.timers[d]) == 0 {
		c.set.Wait()
	}
}

// fire waits until a timer of length d is set and fires the oldest.
func (c *handClock) fire(d time.Duration) {
	c.await(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers[d][0] <- time.Time{}
	c.timers[d] = c.timers[d][1:]
}

const (
	testTimeout = 30 * 24 * time.Hour // longer than 2^31 milliseconds
	testGrace   = 7 * time.Second
)

func newFixture(t *testing.T, script string) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: newHandClock(), done: make(chan error, 1)}
	var err error
	if f.state, err = rundir.Open(filepath.Join(t.TempDir(), "state")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.state.Close() })
	f.dir = prepare(t, f.state, []string{"sh", "-c", script})
	f.job = Job{
		Version: handover.JobVersion, RunDir: f.dir.Path(), RunID: f.dir.ID(), Argv: []string{"sh", "-c", script},
		Env: []string{"PATH=/usr/bin:/bin"}, Path: "/bin/sh", OpenFiles: 256,
		Timeout: paddock.Duration(testTimeout), OutputCap: 1 << 20, Grace: paddock.Duration(testGrace),
		Contain: paddock.ContainAs{Level: paddock.Off, Network: "host"}, Dir: t.TempDir(), Programs: []string{"/bin/sh"},
		Word: handover.Word{Written: true},
	}
	f.job.Root = f.job.Dir
	f.files = Files{Lock: f.dir.Lock(), Dir: opened(t, f.job.Dir), Exec: opened(t, "/bin/sh")}
	f.ours, f.their = net.Pipe()
	return f
}

func prepare(t *testing.T, state *rundir.State, argv []string) *rundir.Dir {
	t.Helper()
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	me := paddock.Principal{Kind: paddock.Host, ID: "test"}
	req := paddock.Request{Principal: me, Door: paddock.DoorGo, Command: paddock.Command{Argv: argv}}
	dir, err := state.Prepare(t.Context(), id, rundir.Intent{
		Request:   req,
		Decision:  paddock.Decision{Effect: paddock.Allow, RequestDigest: req.Digest(), Granted: paddock.Gives(&paddock.Grant{})},
		CreatedAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Claim(t.Context(), func(c *rundir.Claim) error { return c.Publish(dir, "") }); err != nil {
		t.Fatal(err)
	}
	return dir
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// run supervises the run to its end while acts happen, and returns the outcome.
func (f *fixture) run(acts ...func()) paddock.Outcome {
	f.t.Helper()
	go func() {
		f.done <- Run(f.t.Context(), f.job, f.files, f.their, Options{After: f.clock.After, Now: f.now, Self: f.self, Boot: f.boot})
	}()
	for _, act := range acts {
		act()
	}
	if err := <-f.done; err != nil && !f.mayFail {
		f.t.Error(err)
	}
	f.ours.Close()
	outcome, err := f.dir.Outcome()
	if err != nil || outcome == nil {
		f.t.Fatalf("no outcome: %v", err)
	}
	if err := f.dir.ReleaseLock(); err != nil {
		f.t.Error(err)
	}
	for stream, sum := range map[paddock.Stream]paddock.StreamSummary{paddock.Stdout: outcome.Stdout, paddock.Stderr: outcome.Stderr} {
		if err := artifact.Open(f.dir.Path()).Verify(stream, sum); err != nil && !f.mayFail {
			f.t.Errorf("%s: %v", stream, err)
		}
	}
	if outcome.EndedAt.IsZero() || outcome.SettledAt.Before(outcome.EndedAt) {
		f.t.Errorf("ended %v, settled %v", outcome.EndedAt, outcome.SettledAt)
	}
	return *outcome
}

func (f *fixture) client() *control.Client {
	f.t.Helper()
	token, err := f.dir.Token()
	if err != nil {
		f.t.Fatal(err)
	}
	for {
		c, err := control.Dial(f.t.Context(), f.dir.Path(), token)
		if err == nil {
			f.t.Cleanup(func() { c.Close() })
			return c
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ECONNREFUSED) {
			f.t.Fatal(err)
		}
	}
}

// printed waits until the program's standard output holds text.
func (f *fixture) printed(text string) func() {
	return func() {
		f.t.Helper()
		events, err := f.client().Subscribe(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		for event := range events {
			if strings.Contains(f.stdout(), text) {
				return
			}
			if event.Kind == "settled" {
				f.t.Fatalf("the run settled without printing %q: %+v", text, event.Outcome)
			}
		}
	}
}

func (f *fixture) stdout() string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir.Path(), "stdout"))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

func (f *fixture) kill(k control.Kill) func() {
	return func() {
		f.t.Helper()
		if err := f.client().Kill(f.t.Context(), k); err != nil {
			f.t.Fatal(err)
		}
	}
}

func code(n int) *int { return &n }

func checkOutcome(t *testing.T, got paddock.Outcome, state paddock.State, reason paddock.Reason) {
	t.Helper()
	g, _ := json.Marshal(got.Reason)
	w, _ := json.Marshal(reason)
	if got.State != state || !bytes.Equal(g, w) || got.Survivors != 0 {
		t.Errorf("got %s %s survivors %d, want %s %s", got.State, g, got.Survivors, state, w)
	}
}

func TestAFailingProgramIsAResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `echo out; echo err >&2; exit 7`)
	got := f.run()
	checkOutcome(t, got, paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(7)})
	if got.Stdout.Bytes != 4 || got.Stderr.Bytes != 4 || f.stdout() != "out\n" {
		t.Errorf("%+v %q", got, f.stdout())
	}
	record, err := f.dir.Record(time.Now())
	if err != nil || record.Tree != paddock.TreeKernel || record.StartedAt == nil || record.Supervisor == nil {
		t.Errorf("record %+v, %v", record, err)
	}
	if _, err := os.Stat(filepath.Join(f.dir.Path(), "reserve")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the reserve is still there: %v", err)
	}
}

func TestASignalFromElsewhereIsToldFromAKill(t *testing.T) {
	t.Parallel()
	got := newFixture(t, `kill -KILL $$`).run()
	checkOutcome(t, got, paddock.Killed, paddock.Reason{Kind: paddock.ReasonSignal, Signal: "SIGKILL"})
}

func TestNeverStartedIsNotExited(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.files.Exec = opened(t, file)
	checkOutcome(t, f.run(), paddock.FailedToStart, paddock.Reason{Kind: paddock.ReasonStart, Step: "exec", Detail: "exec format error"})
}

func TestCapIsExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		bytes int
		state paddock.State
		kept  int64
		lost  int64
	}{
		{"one less", 99_999, paddock.Exited, 99_999, 0},
		{"exactly full", 100_000, paddock.Exited, 100_000, 0},
		{"one over", 100_001, paddock.OutputLimit, 100_000, 1},
	} {
		for _, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
			t.Run(c.name+" "+string(stream), func(t *testing.T) {
				t.Parallel()
				script := fmt.Sprintf(`head -c %d /dev/zero`, c.bytes)
				if stream == paddock.Stderr {
					script += " >&2"
				}
				f := newFixture(t, script)
				f.job.OutputCap = 100_000
				got := f.run()
				sum := got.Stdout
				if stream == paddock.Stderr {
					sum = got.Stderr
				}
				if got.State != c.state || sum.Bytes != c.kept || sum.Dropped != c.lost {
					t.Errorf("%+v", got)
				}
				if c.lost > 0 && (got.Reason.Kind != paddock.ReasonOutputLimit || got.Reason.Stream != stream || got.Reason.Limit != 100_000) {
					t.Errorf("reason %+v", got.Reason)
				}
			})
		}
	}
}

func TestCapEndsAnEndlessWriter(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `exec cat /dev/zero`)
	got := f.run()
	if got.State != paddock.OutputLimit || got.Stdout.Bytes != 1<<20 || got.Stdout.Dropped == 0 {
		t.Errorf("%+v", got)
	}
}

func TestTimeoutAsksThenKills(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `trap '' TERM; echo up; while :; do sleep 1; done`)
	got := f.run(f.printed("up"), func() { f.clock.fire(testTimeout) }, func() { f.clock.fire(testGrace) })
	checkOutcome(t, got, paddock.TimedOut, paddock.Reason{Kind: paddock.ReasonTimeout, Limit: testTimeout.Milliseconds(), Signal: "SIGKILL"})
}

// Silence is counted from the last thing that was printed, and what the program
// seems to wait for is said.
func TestSilenceEndsARun(t *testing.T) {
	t.Parallel()
	const idle = time.Hour
	for script, detail := range map[string]string{
		`echo up; echo more; while :; do sleep 1; done`:              "",
		`echo up; printf 'more\nGo on? '; while :; do sleep 1; done`: "the last line looks like a question",
	} {
		f := newFixture(t, script)
		f.job.Limits.Idle = paddock.Duration(idle)
		begin := time.Now()
		var passed atomic.Int64
		f.now = func() time.Time { return begin.Add(time.Duration(passed.Load())) }
		got := f.run(f.printed("more"), func() {
			f.clock.await(idle) // it counts by the clock as it stood at the start
			passed.Store(int64(idle - time.Minute))
			f.clock.fire(idle) // too early by a minute: it is looked at again then
			f.clock.await(time.Minute)
		}, func() {
			passed.Store(int64(idle))
			f.clock.fire(time.Minute)
		})
		if got.State != paddock.Killed || got.Reason.Kind != paddock.ReasonIdle || got.Reason.Limit != idle.Milliseconds() || !strings.HasPrefix(got.Reason.Detail, detail) || (detail == "") != (got.Reason.Detail == "") {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

func TestFirstReasonWins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `trap '' TERM INT; echo up; while :; do sleep 1; done`)
	got := f.run(
		f.printed("up"),
		f.kill(control.Kill{Kind: paddock.ReasonKill, Signal: "INT", By: "me", Why: "enough"}),
		func() { f.clock.fire(testTimeout) },
		f.kill(control.Kill{Kind: paddock.ReasonKill, Signal: "TERM", By: "other", Why: "later"}),
		f.kill(control.Kill{Kind: paddock.ReasonKill, Signal: "KILL", By: "third", Why: "now"}), // only makes it faster
	)
	checkOutcome(t, got, paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, By: "me", Why: "enough", Signal: "SIGKILL"})
}

func TestARequestCanBeAnswered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `trap 'echo bye; exit 9' HUP; echo up; while :; do sleep 0.02; done`)
	got := f.run(f.printed("up"), f.kill(control.Kill{Kind: paddock.ReasonKill, Signal: "HUP", By: "me"}))
	checkOutcome(t, got, paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, By: "me", ExitCode: code(9)})
	if f.stdout() != "up\nbye\n" {
		t.Errorf("output %q: what it printed while ending is missing", f.stdout())
	}
}

func TestKillRefusesWhatItDoesntKnow(t *testing.T) {
	t.Parallel()
	h := handler{&run{}}
	for _, k := range []control.Kill{{Signal: "STOP"}, {Signal: "9"}, {Kind: paddock.ReasonTimeout}, {Kind: "x"}} {
		if err := h.Kill(k); err == nil {
			t.Errorf("%+v was accepted", k)
		}
	}
}

func TestLeaderExitEndsTheRun(t *testing.T) {
	t.Parallel()
	// What is left ignores every request, sits in a session of its own and
	// holds the pipe.
	f := newFixture(t, `(setsid sh -c 'trap "" TERM HUP INT; echo up; while :; do sleep 1; done' &) ; read x; exit 3`)
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	f.files.Stdin = stdin
	got := f.run(f.printed("up"), func() { fmt.Fprintln(w, "x"); w.Close() }, func() { f.clock.fire(leftoverGrace) })
	checkOutcome(t, got, paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(3)})
	if got.Leftovers == 0 {
		t.Error("the leftover isn't counted")
	}
}

func TestAPipeHeldFromOutsideDoesntKeepARunOpen(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can open the program's descriptors here")
	}
	f := newFixture(t, `echo up; read x`)
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	f.files.Stdin = stdin
	got := f.run(f.printed("up"), func() {
		status, err := f.client().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", status.LeaderPID), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { held.Close() })
		w.Close()
	})
	if got.State != paddock.Exited || !strings.Contains(got.Reason.Detail, "outside") {
		t.Errorf("%+v", got)
	}
}

func TestStdinIsFedAndEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `exec cat`)
	text := filepath.Join(t.TempDir(), "in")
	want := strings.Repeat("0123456789\n", 60_000) // more than a pipe holds
	if err := os.WriteFile(text, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	f.files.Stdin = opened(t, text)
	if got := f.run(); got.State != paddock.Exited || f.stdout() != want {
		t.Errorf("%+v, %d bytes", got, len(f.stdout()))
	}
}

func TestStdinNobodyReads(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `exit 0`)
	text := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(text, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	f.files.Stdin = opened(t, text)
	checkOutcome(t, f.run(), paddock.Exited, paddock.Reason{Kind: paddock.ReasonExit, ExitCode: code(0)})
}

func TestNoStdinIsAnEmptyStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `cat; echo end`)
	if f.run(); f.stdout() != "end\n" {
		t.Errorf("output %q", f.stdout())
	}
}

func TestATiedRunEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	for _, tied := range []bool{true, false} {
		f := newFixture(t, `echo up; exec sleep 300`)
		f.job.Tied = tied
		acts := []func(){f.printed("up"), func() { f.ours.Close() }}
		want := paddock.Reason{Kind: paddock.ReasonCallerGone, Signal: "SIGTERM"}
		if !tied {
			acts = append(acts, f.kill(control.Kill{Kind: paddock.ReasonKill, Signal: "TERM", By: "me"}))
			want = paddock.Reason{Kind: paddock.ReasonKill, By: "me", Signal: "SIGTERM"}
		}
		checkOutcome(t, f.run(acts...), paddock.Killed, want)
	}
}

func TestSubscribersHearTheStory(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `echo up; read x; exit 0`)
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	f.files.Stdin = stdin
	var kinds []string
	f.run(func() {
		events, err := control.NewClient(f.ours).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for event := range events {
			kinds = append(kinds, event.Kind)
			if event.Stdout > 0 {
				w.Close()
			}
			if event.Kind == "settled" && (event.Outcome == nil || event.Outcome.State != paddock.Exited) {
				t.Errorf("%+v", event)
			}
		}
	})
	if len(kinds) < 2 || kinds[0] != "started" || kinds[len(kinds)-1] != "settled" {
		t.Errorf("events %q", kinds)
	}
}

func TestAFullDiskEndsTheRunAndItsOutcomeIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can mount a small file system")
	}
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		testproc.Skip(t, "no small file system: "+err.Error())
	}
	f := newFixture(t, `exec cat /dev/zero`)
	f.job.OutputCap = 1 << 30
	if err := f.state.Close(); err != nil {
		t.Fatal(err)
	}
	state, err := rundir.Open(filepath.Join(small, "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		state.Close()
		// Detached, because a process that another test is just starting may
		// for a moment have a copy of our descriptors.
		if err := unix.Unmount(small, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := f.dir.ReleaseLock(); err != nil {
		t.Fatal(err)
	}
	f.state, f.dir = state, prepare(t, state, []string{"cat"})
	f.job.RunDir, f.job.RunID, f.files.Lock = f.dir.Path(), f.dir.ID(), f.dir.Lock()
	got := f.run()
	if got.State != paddock.Killed || got.Reason.Kind != paddock.ReasonSink || !strings.Contains(got.Reason.Detail, "no space") {
		t.Errorf("%+v", got)
	}
	if got.Stdout.Dropped == 0 {
		t.Error("what could not be kept isn't counted")
	}
}

func TestJobsOfAnotherReleaseAreRefused(t *testing.T) {
	t.Parallel()
	err := Run(context.Background(), Job{Version: handover.JobVersion + 1, RunDir: "/nowhere"}, Files{}, nil, Options{})
	if err == nil || !strings.Contains(err.Error(), "different releases") {
		t.Errorf("got %v", err)
	}
	if err := Run(context.Background(), Job{Version: handover.JobVersion}, Files{}, nil, Options{}); err == nil {
		t.Error("an empty job was accepted")
	}
	whole := newFixture(t, `true`).job
	whole.Written = false
	if err := Run(context.Background(), whole, Files{}, nil, Options{}); err == nil || !strings.Contains(err.Error(), "written down") {
		t.Errorf("a run that isn't written down was started: %v", err)
	}
}

// A process that the kernel can't end doesn't keep the run open: it survives,
// and the outcome says so.
func TestWhatCannotBeEndedIsASurvivor(t *testing.T) {
	t.Parallel()
	freezer, err := os.MkdirTemp("/sys/fs/cgroup/freezer", "supervise-test-")
	if err != nil {
		testproc.Skip(t, "no freezer of the first version here, which alone stops a kill: "+err.Error())
	}
	thaw := func() {
		if err := os.WriteFile(filepath.Join(freezer, "freezer.state"), []byte("THAWED"), 0); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		thaw()
		for os.Remove(freezer) != nil { // until the process that was frozen is gone
			<-time.After(10 * time.Millisecond)
		}
	})
	f := newFixture(t, fmt.Sprintf(`(echo 0 >%[1]s/cgroup.procs; echo FROZEN >%[1]s/freezer.state; exec sleep 300) &
		until [ "$(cat %[1]s/freezer.state)" = FROZEN ]; do sleep 0.01; done; exit 3`, freezer))
	got := f.run(func() { f.clock.fire(leftoverGrace) }, func() { f.clock.fire(destroyAfter) }, func() { f.clock.fire(abandonAfter) })
	if got.State != paddock.Exited || *got.Reason.ExitCode != 3 || got.Survivors < 1 {
		t.Errorf("%+v", got)
	}
}
