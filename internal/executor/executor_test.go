//go:build linux

package executor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/executor/stages"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, programs) }

// programs are those that the tests play themselves.
var programs = map[string]func() int{}

const permissive = `version: 1
roots: [{path: ROOT}]
executables: [{name: sh, path: /bin/sh, args: any}]
containment: {require: off}
`

type fixture struct {
	e        *Executor
	dir      string
	mu       sync.Mutex
	warnings []error
}

func open(t *testing.T, change ...func(*Config)) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: dir}
	cfg := Config{
		State:  filepath.Join(dir, "state"),
		Grace:  time.Minute, // who ends a run has its outcome, however busy the machine is
		Policy: PolicyText("policy.yaml", []byte(strings.ReplaceAll(permissive, "ROOT", dir))),
		Warn: func(err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.warnings = append(f.warnings, err)
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	if cfg.Stage == "" {
		cfg.Stage = testproc.Build(t, "paddock/cmd/paddock-stage")
	}
	if f.e, err = Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.e.Close(); err != nil {
			t.Error(err)
		}
		left(t, f.e.state.Path())
	})
	return f
}

// left waits until no supervisor of a settled run is there any more: it is done
// with the directory some time after the outcome, which the test has waited for.
func left(t testing.TB, state string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(state, "runs", "*", "*"))
	if err != nil {
		t.Error(err)
	}
	late := time.After(time.Minute)
	for _, path := range paths {
		d, err := record.Open(path)
		if err != nil {
			continue // what a test has put there
		}
		for {
			settled, err := record.Settled(path)
			free, known := record.Unattended(d)
			if err != nil || !settled || free || !known {
				break
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-late:
				t.Errorf("the supervisor of run %s is still there", d.ID())
				return
			}
		}
	}
}

func request(line string) paddock.Request {
	return paddock.Request{
		Principal: paddock.Principal{Kind: paddock.Host, ID: "test"}, Door: paddock.DoorGo,
		Command: paddock.Command{Argv: []string{"sh", "-c", line}},
	}
}

// A run that has no supervisor is a run all the same, and never started.
func TestMissingSupervisor(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *Config) { c.Stage = filepath.Join(c.State, "none"); c.Warm = 1 })
	run, err := f.e.Start(t.Context(), request("true"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(run.Outcome.Reason.Detail, "go build") {
		t.Errorf("detail %q doesn't say how to install it", run.Outcome.Reason.Detail)
	}
	if run.State != paddock.FailedToStart || run.Outcome.Reason.Step != "find the supervisor" || run.StartedAt != nil {
		t.Errorf("%s %+v", run.State, run.Outcome)
	}
	if page, err := f.e.Output(t.Context(), run.ID, paddock.PageRequest{Stream: paddock.Combined}); err != nil || !page.EOF {
		t.Errorf("its output is %+v, %v", page, err)
	}
	if len(f.warnings) == 0 {
		t.Error("nobody was warned of the supervisors that were to be kept warm")
	}
}

// A supervisor that dies at once leaves a settled run, too.
func TestSupervisorThatDiesAtOnce(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *Config) { c.Stage = "/bin/false" })
	for range 10 {
		run, err := f.e.Start(t.Context(), request("true"))
		if err == nil && (run.State == paddock.Lost || run.State == paddock.FailedToStart) {
			continue
		}
		t.Errorf("%s %+v, %v", run.State, run.Outcome, err)
	}
	running, _, err := f.e.Count(t.Context(), request("").Principal)
	if err != nil || running != 0 {
		t.Errorf("%d runs go on, %v", running, err)
	}
}

// An idle supervisor that somebody ended is not the one that gets the job.
func TestWarmSupervisors(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *Config) { c.Warm = 2 })
	for range 5 {
		run, err := f.e.Start(t.Context(), request("exit 3"))
		if err != nil {
			t.Fatal(err)
		}
		if run, err = f.e.Wait(t.Context(), run.ID); err != nil || run.State != paddock.Exited {
			t.Errorf("%s %+v %v", run.State, run.Outcome, err)
		}
	}
}

// A wait that is over before anybody could look still gives a page.
func TestWaitThatIsOverAtOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	run, err := f.e.Start(t.Context(), request("echo said"))
	if err == nil {
		run, err = f.e.Wait(t.Context(), run.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	if page, err := f.e.Output(t.Context(), run.ID, paddock.PageRequest{Wait: 1}); err != nil || page.Content != "said\n" {
		t.Errorf("%+v, %v", page, err)
	}
}

// A run that was expected has its supervisor before it is judged: the first to be
// asked for gets it. One that is refused gets nothing, and nothing is left of it.
// Not parallel: it looks for what is left.
func TestAnExpectedRunHasItsSupervisorAtOnce(t *testing.T) {
	testproc.Leaks(t)
	for _, refused := range []bool{false, true} {
		f := open(t, func(c *Config) { c.Expect = stages.ExpectTied })
		if f.e.pool == nil {
			t.Fatal("nobody was started")
		}
		req := request("exit 3")
		req.Tied = true
		if refused {
			req.Command.Argv[0] = "no-such-word"
		}
		run, err := f.e.Start(t.Context(), req)
		if refused != (err != nil) {
			t.Fatalf("refused %v: %v", refused, err)
		}
		if err == nil {
			if run, err = f.e.Wait(t.Context(), run.ID); err != nil || run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 3 {
				t.Errorf("%s %+v %v", run.State, run.Outcome, err)
			}
		}
		if err := f.e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatCannotBeWrittenDownIsNotRun(t *testing.T) {
	t.Parallel()
	f := open(t)
	tmp := filepath.Join(f.dir, "state", "tmp")
	if err := os.Remove(tmp); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tmp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := f.e.Start(t.Context(), request("touch started"))
	r, ok := errors.AsType[*paddock.Refusal](err)
	if !ok || r.Code != paddock.Unrecordable {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "started")); err == nil {
		t.Error("it was run")
	}
}

// While nobody asks, runs that lost their supervisor are settled by the clock.
func TestReconcilesByItself(t *testing.T) {
	t.Parallel()
	tick := make(chan time.Time)
	f := open(t, func(c *Config) { c.Tick = tick })
	run, err := f.e.Start(t.Context(), request("exec sleep 98765"))
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(run.Supervisor.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	dir, err := f.e.state.Run(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	for outcome := (*paddock.Outcome)(nil); outcome == nil; {
		select {
		case tick <- time.Time{}:
		case <-t.Context().Done():
			t.Fatal("never settled")
		}
		if outcome, err = dir.Outcome(); err != nil {
			t.Fatal(err)
		}
	}
}

// A supervisor that was stopped hears nothing; killing the run still ends it.
func TestKillEndsARunWhoseSupervisorIsStopped(t *testing.T) {
	t.Parallel()
	f := open(t, func(c *Config) { c.Grace = 100 * time.Millisecond })
	run, err := f.e.Start(t.Context(), request("sleep 98764"))
	if err != nil {
		t.Fatal(err)
	}
	testproc.Stop(t, run.Supervisor.PID)
	if _, err := f.e.Kill(t.Context(), run.ID, Ending{Signal: "TERM"}); err == nil || !strings.Contains(err.Error(), "doesn't answer") {
		t.Errorf("a request: %v", err)
	}
	// That it is settled can take longer than who ends it waits, and isn't an error.
	must(t, f.e.state.Claim(t.Context(), func(*rundir.Claim) error {
		got, err := f.e.Kill(t.Context(), run.ID, Ending{Signal: "KILL"})
		if err != nil || got.State != paddock.Running {
			t.Errorf("while nobody may settle it: %s, %v", got.State, err)
		}
		return nil
	}))
	got, err := f.e.Wait(t.Context(), run.ID)
	if err != nil || got.State != paddock.Lost || got.Outcome.Reason.Evidence == nil {
		t.Errorf("%+v, %v", got.Outcome, err)
	}
}

// A supervisor that is ended together with its guardian leaves processes in the
// run's cgroup: whoever finds the run lost ends them.
func TestLostRunsLeaveNoCgroup(t *testing.T) {
	t.Parallel()
	probe, err := lifecycle.NewCgroup("executor-" + filepath.Base(t.TempDir()) + "-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		testproc.Skip(t, "no cgroup can be made: "+err.Error())
	}
	if err := probe.Remove(); err != nil {
		t.Fatal(err)
	}
	tick := make(chan time.Time)
	f := open(t, func(c *Config) { c.Tick, c.Isolation = tick, []paddock.Isolation{paddock.CgroupKill} })
	run, err := f.e.Start(t.Context(), request("setsid sleep 98765 & echo $!; wait"))
	if err != nil {
		t.Fatal(err)
	}
	page := paddock.Page{}
	for !strings.HasSuffix(page.Content, "\n") {
		page, err = f.e.Output(t.Context(), run.ID, paddock.PageRequest{Stream: paddock.Stdout, Wait: paddock.Duration(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
	}
	left, err := strconv.Atoi(strings.TrimSpace(page.Content))
	if err != nil {
		t.Fatal(err)
	}
	guardian := lifecycle.Descendants(run.Supervisor.PID)[0]
	testproc.Stop(t, run.Supervisor.PID)
	for _, pid := range []int{guardian, run.Supervisor.PID} {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	for unix.Kill(left, 0) == nil {
		select {
		case tick <- time.Time{}:
		case <-t.Context().Done():
			t.Fatal("it lives on")
		}
	}
	tick <- time.Time{} // the one that ended it is over
	probe, err = lifecycle.NewCgroup(string(run.ID))
	if err != nil {
		t.Fatalf("the run's cgroup is still there: %v", err)
	}
	if err := probe.Remove(); err != nil {
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	f := open(t)
	run, err := f.e.Start(t.Context(), request("exec sleep 300"))
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		close(begun)
		_, err := f.e.Wait(context.WithoutCancel(t.Context()), run.ID)
		waiting <- err
	}()
	<-begun
	if err := f.e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; !errors.Is(err, ErrClosed) {
		t.Errorf("who waited was told %v", err)
	}
	if _, err := f.e.Start(t.Context(), request("true")); !errors.Is(err, ErrClosed) {
		t.Errorf("start: %v", err)
	}
	// The run went on, and whoever opens the directory next can end it.
	next, err := Open(t.Context(), f.e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if run, err = next.Kill(t.Context(), run.ID, Ending{}); err != nil || run.State != paddock.Killed {
		t.Errorf("%s, %v", run.State, err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// A context that ends while the run is being made ends the run: whatever was
// made is settled, and says that it was aborted.
func TestContextThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	for at := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		var f *fixture
		f = open(t, func(c *Config) {
			c.Now = func() time.Time {
				if f != nil { // not while opening
					if calls++; calls == at+1 {
						cancel()
					}
				}
				return time.Now()
			}
			c.Tick = make(chan time.Time)
		})
		run, err := f.e.Start(ctx, request("exec sleep 300"))
		cancel()
		switch {
		case err == nil: // it was told only after the start
			if _, err := f.e.Kill(t.Context(), run.ID, Ending{Signal: "KILL"}); err != nil {
				t.Error(err)
			}
		case run.ID != "" && (run.State != paddock.Killed || run.Outcome.Reason.Kind != paddock.ReasonAbort):
			t.Errorf("canceled at %d: %s %+v, %v", at, run.State, run.Outcome, err)
		}
		active, err := f.e.Active(t.Context())
		if err != nil || len(active) > 0 {
			t.Errorf("canceled at %d: %d go on, %v", at, len(active), err)
		}
	}
}

// What the journal can't be told of isn't run, and everything else is told of.
func TestTheJournalComesFirst(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	f := open(t, func(c *Config) {
		c.Journal.Step = func(string) error {
			if broken.Load() {
				return unix.ENOSPC
			}
			return nil
		}
	})
	broken.Store(true)
	_, err := f.e.Start(t.Context(), request("echo ran > ran"))
	var refusal *paddock.Refusal
	if !errors.As(err, &refusal) || refusal.Code != paddock.Unrecordable || !strings.Contains(refusal.Message, "no space") {
		t.Errorf("refused with %v", err)
	}
	if runs, _, err := f.e.List(t.Context(), "", 10, Wanted{}); len(runs) > 0 || err != nil {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "ran")); err == nil {
		t.Error("the program ran")
	}
	broken.Store(false)
	run, err := f.e.Start(t.Context(), request("sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.e.Kill(t.Context(), run.ID, Ending{Signal: "KILL", By: "test"}); err != nil {
		t.Fatal(err)
	}
	var refused *paddock.Refusal
	if _, err := f.e.Start(t.Context(), paddock.Request{Principal: request("").Principal}); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	var kinds []string
	report, err := audit.Run(t.Context(), f.e.notes.Dir(), audit.Options{Each: func(e journal.Entry) error {
		kinds = append(kinds, string(e.Kind))
		return nil
	}})
	if err != nil || !report.Whole() || report.Open != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := strings.Join(kinds, " "); got != "begin policy start kill end refusal" {
		t.Errorf("told %s", got)
	}
}

// When a run is over nothing leads to it as one that goes on, without anybody asking for
// another; and what refuses a run late leaves nothing of what was made ready for it.
func TestWhatIsOverIsDroppedByItself(t *testing.T) {
	t.Parallel()
	f := open(t)
	run, err := f.e.Start(t.Context(), request("true"))
	if err == nil {
		run, err = f.e.Wait(t.Context(), run.ID)
	}
	if err != nil || run.State != paddock.Exited {
		t.Fatalf("%s, %v", run.State, err)
	}
	late := time.After(time.Minute)
	for {
		entries, err := os.ReadDir(filepath.Join(f.e.state.Path(), "active"))
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return
		}
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			t.Fatal("the run's entry stays")
		}
	}
}
