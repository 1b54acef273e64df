//go:build linux

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// stubborn prints "ready" when it stands: a leader that ignores TERM, a child, a
// grandchild in a session of its own that was forked twice, all ignoring TERM.
func stubborn(seconds string) string {
	return "trap '' TERM HUP INT; sleep " + seconds + " & (setsid sh -c '(sleep " + seconds + " & sleep " + seconds + ")' &) ; echo ready; sleep " + seconds
}

var isolations = []paddock.Isolation{paddock.PIDNamespace, paddock.UserPIDNamespace, paddock.CgroupKill, paddock.Guardian}

// held runs f with a world for every means of holding a tree that works here.
func held(t *testing.T, f func(t *testing.T, w *world, by paddock.Isolation)) {
	t.Helper()
	for _, by := range isolations {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, permissive, func(o *Options) {
				o.isolation, o.grace = []paddock.Isolation{by}, 300*time.Millisecond
			})
			if probe := w.done("true"); probe.Isolation != by {
				testproc.Skip(t, fmt.Sprintf("%s doesn't work here: %+v", by, probe.Outcome.Reason))
			}
			f(t, w, by)
		})
	}
}

// ready waits for the first line.
func (w *world) ready(run Run) {
	w.t.Helper()
	if page := w.prints(run, Stdout, ""); !strings.HasPrefix(page.Content, "ready\n") {
		w.t.Fatalf("not ready: %+v", page)
	}
}

func TestWholeTreeEnds(t *testing.T) {
	t.Parallel()
	held(t, func(t *testing.T, w *world, by paddock.Isolation) {
		ends := map[string]struct {
			change func(*Command)
			end    func(Run)
			state  State
		}{
			"kill": {func(*Command) {}, func(run Run) {
				_, err := w.r.Kill(t.Context(), run.ID, TERM, "")
				must(t, err)
			}, Killed},
			"timeout": {func(c *Command) { c.Timeout = 700 * time.Millisecond }, func(Run) {}, TimedOut},
			"cap": {func(c *Command) {
				c.Argv[2] = strings.Replace(c.Argv[2], "echo ready;", "echo ready; while :; do echo more; done;", 1)
				c.OutputLimit = 5000
			}, func(Run) {}, OutputLimit},
		}
		for name, tt := range ends {
			seconds := unique(t)
			run := w.sh(stubborn(seconds), tt.change)
			if name == "kill" {
				w.ready(run)
			}
			tt.end(run)
			run = w.settle(run)
			if run.State != tt.state || run.Outcome.Survivors != 0 || run.Tree != by.Tree() {
				t.Errorf("%s: %s, tree %s, %+v", name, run.State, run.Tree, run.Outcome)
			}
			if alive(t, seconds) {
				t.Errorf("%s: something of the run is alive", name)
			}
		}
	})
}

// The leader's end is the run's, whatever it left behind and whatever that holds.
func TestLeftoverDoesNotKeepTheRunOpen(t *testing.T) {
	t.Parallel()
	held(t, func(t *testing.T, w *world, _ paddock.Isolation) {
		seconds := unique(t)
		run := w.done("(setsid sleep " + seconds + " &); trap '' TERM; sleep " + seconds + " & echo done; exit 4")
		if run.State != Exited || *run.Outcome.Reason.ExitCode != 4 {
			t.Errorf("%s %+v", run.State, run.Outcome.Reason)
		}
		if run.Outcome.Leftovers < 2 || run.Outcome.Survivors != 0 {
			t.Errorf("leftovers %d, survivors %d", run.Outcome.Leftovers, run.Outcome.Survivors)
		}
		if alive(t, seconds) {
			t.Error("a leftover is alive")
		}
		if got := w.text(run, Stdout); got != "done\n" {
			t.Errorf("output %q", got)
		}
	})
}

// Killing the supervisor leaves nothing where the kernel holds the tree, and a
// record that says what was seen everywhere.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	held(t, func(t *testing.T, w *world, by paddock.Isolation) {
		seconds := unique(t)
		run := w.sh(stubborn(seconds))
		w.ready(run)
		must(t, unix.Kill(run.Supervisor.PID, unix.SIGKILL))
		run = w.settle(run)
		r := run.Outcome.Reason
		if run.State != Lost || r.Kind != paddock.ReasonLost || r.Evidence == nil {
			t.Fatalf("%s %+v", run.State, r)
		}
		if r.Evidence.Supervisor == nil || *r.Evidence.Supervisor != *run.Supervisor || r.Evidence.SupervisorAlive {
			t.Errorf("evidence %+v", r.Evidence)
		}
		if got := w.text(run, Stdout); got != "ready\n" || run.Outcome.Stdout.Bytes != 6 || run.Outcome.Stdout.Digest == "" {
			t.Errorf("what was printed is %q, %+v", got, run.Outcome.Stdout)
		}
		until(t, "the tree is gone", func() bool { return by.Tree() != paddock.TreeKernel || !alive(t, seconds) })
		again, err := w.r.Kill(t.Context(), run.ID, KILL, "")
		must(t, err)
		if again.State != Lost {
			t.Errorf("killed again: %s", again.State)
		}
	})
}

func TestSupervisorKilledWhileNobodyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.sh(stubborn(unique(t)))
	w.ready(run)
	must(t, w.r.Close())
	must(t, unix.Kill(run.Supervisor.PID, unix.SIGKILL))
	// Reaped, not only a zombie: until its last thread is gone it holds the lock.
	until(t, "the supervisor is gone", func() bool { return unix.Kill(run.Supervisor.PID, 0) != nil })
	w.r = w.open() // reconciles
	got, err := w.r.Status(t.Context(), run.ID)
	must(t, err)
	if got.State != Lost {
		t.Errorf("state %s", got.State)
	}
}

func TestTwoKillsAndTheFirstReasonWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive, func(o *Options) { o.grace = 500 * time.Millisecond })
	run := w.sh(stubborn(unique(t)))
	w.ready(run)
	var all sync.WaitGroup
	got := make([]Run, 2)
	all.Go(func() { got[0], _ = w.r.Kill(t.Context(), run.ID, TERM, "first") })
	all.Go(func() { got[1], _ = w.r.Kill(t.Context(), run.ID, KILL, "second") })
	all.Wait()
	end := w.settle(run)
	for _, one := range got {
		if one = w.settle(one); one.State != Killed || one.Outcome == nil || one.Outcome.Reason.Why != end.Outcome.Reason.Why {
			t.Errorf("%s %+v", one.State, one.Outcome)
		}
	}
	if why := end.Outcome.Reason.Why; why != "first" && why != "second" {
		t.Errorf("reason %+v", end.Outcome.Reason)
	}
}

// A kill that meets a program just ending gives one explanation, whichever.
func TestKillRacingExit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	for i := range 40 {
		run := w.sh(fmt.Sprintf("sleep 0.00%d; exit 9", i%10))
		got, err := w.r.Kill(t.Context(), run.ID, TERM, "race")
		must(t, err)
		r := got.Outcome.Reason
		switch {
		case got.State == Exited && r.Kind == paddock.ReasonExit && *r.ExitCode == 9 && r.Why == "" && r.By == "":
		case got.State == Killed && r.Kind == paddock.ReasonKill && r.Why == "race":
		default:
			t.Errorf("%s %+v", got.State, r)
		}
		later, err := w.r.Status(t.Context(), run.ID)
		must(t, err)
		if later.State != got.State || later.Outcome.Reason.Kind != r.Kind {
			t.Errorf("%s, then %s", got.State, later.State)
		}
	}
}

// A signal from elsewhere is told apart from an end that somebody asked for.
func TestSignalFromElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("kill -USR1 $$")
	if r := run.Outcome.Reason; run.State != Killed || r.Kind != paddock.ReasonSignal || r.Signal != "SIGUSR1" {
		t.Errorf("%s %+v", run.State, r)
	}
}

// Timers of any length: thirty days are more milliseconds than 32 bits hold.
func TestThirtyDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, "timeout: 2m", "timeout: 720h", 1))
	open := w.gate("gate")
	run := w.sh("read x < gate")
	if run.Limits.Timeout != paddock.Duration(720*time.Hour) {
		t.Errorf("timeout %s", run.Limits.Timeout)
	}
	waiting, cancel := context.WithTimeout(t.Context(), 720*time.Hour)
	defer cancel()
	ended := make(chan Run, 1)
	go func() {
		run, _ := w.r.Wait(waiting, run.ID)
		ended <- run
	}()
	status, err := w.r.Status(t.Context(), run.ID)
	must(t, err)
	if status.State != Running {
		t.Errorf("state %s", status.State)
	}
	open()
	if run := <-ended; run.State != Exited {
		t.Errorf("%s %+v", run.State, run.Outcome)
	}
}

func TestContextAbortsTheRunForAsLongAsItLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	ctx, cancel := context.WithCancel(t.Context())
	run, err := w.r.Start(ctx, Command{Argv: []string{"sh", "-c", "exec sleep " + unique(t)}})
	must(t, err)
	cancel()
	run = w.settle(run)
	if r := run.Outcome.Reason; run.State != Killed || r.Kind != paddock.ReasonAbort {
		t.Errorf("%s %+v", run.State, r)
	}
	// A context that is over already starts nothing.
	if _, err := w.r.Start(ctx, Command{Argv: []string{"sh", "-c", "true"}}); err == nil {
		t.Error("started with a context that is over")
	}
}

// A host has children of its own, and a way of starting them. We wait for none
// of them, and no process of ours is the host's program once more.
func TestTheHostKeepsItsChildrenAndItsProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	child := testproc.Command(t, "/bin/sh", "-c", "exit 7")
	must(t, child.Start())
	until(t, "the host's child has ended and nobody waited for it", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.Process.Pid))
		must(t, err)
		return strings.Contains(string(stat), ") Z ")
	})
	open := w.gate("gate")
	run := w.sh("read x < gate")
	got, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", run.Supervisor.PID))
	must(t, err)
	if host, err := os.Executable(); err != nil || got == host || filepath.Base(got) != "paddock-stage" {
		t.Errorf("the supervisor is %s, the host %s, %v", got, host, err)
	}
	open()
	w.settle(run)
	w.done("exit 3")
	var exit *testproc.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the host's own child: %v, want its status 7", err)
	}
}

func TestCloseKeepsOrKills(t *testing.T) {
	t.Parallel()
	for _, on := range []OnClose{KeepRuns, KillRuns} {
		w := newWorld(t, permissive, func(o *Options) { o.OnClose = on; o.Principal = "closing" })
		run := w.sh("exec sleep " + unique(t))
		must(t, w.r.Close())
		w.r = w.open(func(o *Options) { o.Principal = "closing" })
		got, err := w.r.Status(t.Context(), run.ID)
		must(t, err)
		switch {
		case on == KeepRuns && got.State != Running:
			t.Errorf("kept: %s", got.State)
		case on == KillRuns && (got.State != Killed || got.Outcome.Reason.Kind != paddock.ReasonShutdown):
			t.Errorf("killed: %s %+v", got.State, got.Outcome)
		}
	}
}

// hostReport is what a host program of another user or process tells its test.
type hostReport struct {
	Run   Run
	Text  string
	Error string
}

// hostProgram plays a host: it opens a Runner in the directory of its first
// argument and does what the third says.
func hostProgram() int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report, err := host(ctx, os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		report.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		return 1
	}
	return 0
}

func host(ctx context.Context, base, stage, what string) (report hostReport, err error) {
	root := filepath.Join(base, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return report, err
	}
	opt := Options{StateDir: filepath.Join(base, "state"), Stage: stage, Principal: "host program", PolicyText: []byte(strings.ReplaceAll(permissive, "ROOT", root))}
	opt.PolicyText = []byte(strings.Replace(string(opt.PolicyText), "executables:", "executables:\n  - {name: tool, path: "+base+"/tool, args: any}", 1))
	verb, rest, _ := strings.Cut(what, " ")
	if verb == "limits" { // with these sections instead
		whole, _, _ := strings.Cut(string(opt.PolicyText), "limits:")
		opt.PolicyText = []byte(whole + rest)
	}
	if verb == "crash" {
		opt.OnClose = KillRuns
	}
	r, err := Open(ctx, "policy.yaml", opt)
	if err != nil {
		return report, err
	}
	switch verb {
	case "hold", "crash": // leave the run behind; without Close, as a crash would
		// Not tied to ctx, which ends when this host program does.
		report.Run, err = r.Start(context.WithoutCancel(ctx), Command{Argv: []string{"sh", "-c", rest}})
		if err != nil {
			return report, err
		}
		for err == nil && report.Text == "" {
			var page Page
			page, err = r.Output(ctx, report.Run.ID, PageRequest{Wait: paddock.Duration(40 * time.Second)})
			report.Text = page.Content
		}
		return report, err
	case "wait":
		report.Run, err = r.Wait(ctx, RunID(rest))
	case "limits":
		report.Run, err = r.Start(ctx, Command{Argv: []string{"sh", "-c", "true"}})
		if report.Text = refusedAs(err); report.Text != "" {
			return report, r.Close()
		}
		if err == nil {
			report.Run, err = r.Wait(ctx, report.Run.ID)
		}
	case "tool":
		report.Run, err = r.Start(ctx, Command{Argv: []string{"tool", "-c", "echo $0 ran as $(id -u)"}})
		if err == nil {
			report.Run, err = r.Wait(ctx, report.Run.ID)
		}
	}
	if err == nil {
		var text strings.Builder
		err = r.Follow(ctx, report.Run.ID, Stdout, 0, &text)
		report.Text = text.String()
	}
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return report, err
}

// asHost runs the host program, as an ordinary user when uid isn't negative.
func asHost(t *testing.T, uid int, base, what string) hostReport {
	t.Helper()
	cmd := testproc.Command(t, testproc.Program(t, "host"), base, testproc.Build(t, "paddock/cmd/paddock-stage"), what)
	if uid >= 0 {
		testproc.AsUser(t, cmd, uid)
	}
	out, err := cmd.Output()
	must(t, err)
	var report hostReport
	must(t, json.Unmarshal(out, &report))
	if report.Error != "" {
		t.Fatal(report.Error)
	}
	return report
}

func hostBase(t *testing.T, uid int) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Chmod(filepath.Dir(base), 0o755)) // testing makes it for its own user
	must(t, os.Chmod(base, 0o755))
	if os.Geteuid() == 0 && uid >= 0 {
		must(t, os.Chown(base, uid, uid))
	}
	return base
}

// An ordinary user, too, has runs that outlive the host, are found again, and of
// which nothing is left when the supervisor is killed.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	base := hostBase(t, testproc.Nobody)
	seconds := unique(t)
	held := asHost(t, testproc.Nobody, base, "hold "+stubborn(seconds))
	if held.Run.State != Running || held.Text != "ready\n" {
		t.Fatalf("%s %q", held.Run.State, held.Text)
	}
	t.Logf("held by %s, tree %s, cgroup %s", held.Run.Isolation, held.Run.Tree, held.Run.Cgroup)
	if !alive(t, seconds) {
		t.Error("the run didn't outlive its host")
	}
	must(t, unix.Kill(held.Run.Supervisor.PID, unix.SIGKILL))
	got := asHost(t, testproc.Nobody, base, "wait "+string(held.Run.ID))
	if got.Run.State != Lost || got.Text != "ready\n" {
		t.Errorf("%s %q", got.Run.State, got.Text)
	}
	if held.Run.Tree == paddock.TreeKernel {
		until(t, "nothing is left", func() bool { return !alive(t, seconds) })
	}
}

// A program that its user may execute and not read is executed, too.
func TestExecutableThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can make a program that its user can't read")
	}
	base := hostBase(t, testproc.Nobody)
	shell, err := os.ReadFile("/bin/sh")
	must(t, err)
	must(t, os.WriteFile(base+"/tool", shell, 0o600))
	must(t, os.Chmod(base+"/tool", 0o711))
	got := asHost(t, testproc.Nobody, base, "tool")
	if want := fmt.Sprintf("tool ran as %d\n", testproc.Nobody); got.Text != want || got.Run.State != Exited {
		t.Errorf("%s %q, want %q; %+v", got.Run.State, got.Text, want, got.Run.Outcome)
	}
}

// With KillRuns a host that crashes takes its runs along.
func TestCrashOfATiedHost(t *testing.T) {
	t.Parallel()
	base := hostBase(t, -1)
	seconds := unique(t)
	held := asHost(t, -1, base, "crash echo ready; exec sleep "+seconds)
	got := asHost(t, -1, base, "wait "+string(held.Run.ID))
	if r := got.Run.Outcome.Reason; got.Run.State != Killed || r.Kind != paddock.ReasonCallerGone {
		t.Errorf("%s %+v", got.Run.State, r)
	}
	if alive(t, seconds) {
		t.Error("the program is alive")
	}
}
