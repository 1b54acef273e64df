//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/executor"
	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
)

// neighbours are other processes' views of the yard's state directory that look
// for lost runs when they are told to.
func (y *yard) neighbours(n int) (views []*executor.Executor, ticks []chan time.Time) {
	y.t.Helper()
	for range n {
		tick := make(chan time.Time)
		e, err := executor.Open(y.t.Context(), executor.Config{
			State: filepath.Join(y.work, "home", ".local", "state", "paddock"), Policy: executor.PolicyFile(filepath.Join(y.work, "policy.yaml")),
			Tick: tick, Warn: func(err error) { y.t.Error(err) },
		})
		if err != nil {
			y.t.Fatal(err)
		}
		y.t.Cleanup(func() {
			if err := e.Close(); err != nil {
				y.t.Error(err)
			}
		})
		views, ticks = append(views, e), append(ticks, tick)
	}
	return views, ticks
}

// The supervisor of one process's run is killed; every other process that is there
// has the truth written down within one look, and all of them have the same.
func TestAnotherProcessTellsTheTruth(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	going := strings.TrimSpace(y.output("run", "-d", "--", "prog", "wait"))
	_, ticks := y.neighbours(2)
	id := y.killed() // started and, until it was killed, followed by other processes
	dir, err := rundir.OpenRun(filepath.Join(y.work, "home", ".local", "state", "paddock", "runs", id.Time().Format("20060102"), string(id)))
	if err != nil {
		t.Fatal(err)
	}
	// Until its last thread is gone it holds the lock.
	for free := false; !free; pause() {
		free, _ = record.Unattended(dir)
	}
	if o, err := dir.Outcome(); err != nil || o != nil {
		t.Fatalf("somebody has judged it before: %v, %v", o, err)
	}
	// Both look at once; a tick is taken when the look before is over.
	for range 2 {
		for _, tick := range ticks {
			tick <- time.Time{}
		}
	}
	o, err := dir.Outcome()
	if err != nil || o == nil || o.State != paddock.Lost || o.Reason.Evidence == nil || o.Reason.Evidence.SupervisorAlive {
		t.Fatalf("after one look: %+v, %v", o, err)
	}
	for _, command := range [][]string{{"status", "--json", string(id)}, {"show", "--json", string(id)}} {
		if out := y.output(command...); !strings.Contains(out, `"state":"lost"`) || strings.Contains(out, `"state":"running"`) {
			t.Errorf("paddock %s: %s", strings.Join(command, " "), out)
		}
	}
	ends := 0
	report, err := audit.Run(t.Context(), journal.Dir(filepath.Join(y.work, "home", ".local", "state", "paddock")), audit.Options{Each: func(e journal.Entry) error {
		if e.Run == id && e.Kind == journal.End {
			ends++
		}
		return nil
	}})
	if err != nil || !report.Whole() || ends != 1 {
		t.Errorf("the journal tells of its end %d times: %v, %v", ends, report.Faults, err)
	}
	// The one that goes on is nobody's to judge.
	if out := y.output("status", "--json", going); !strings.Contains(out, `"state":"running"`) {
		t.Errorf("the other run: %s", out)
	}
	y.output("kill", going)
}

// A process that got the id of a dead supervisor isn't taken for it, and isn't
// harmed.
func TestReusedProcessID(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	id := y.killed()
	state := filepath.Join(y.work, "home", ".local", "state", "paddock")
	dir, err := rundir.OpenRun(filepath.Join(state, "runs", id.Time().Format("20060102"), string(id)))
	if err != nil {
		t.Fatal(err)
	}
	for free := false; !free; pause() {
		free, _ = record.Unattended(dir)
	}
	// As if the kernel had given its id to us since.
	started, err := dir.Started()
	if err != nil {
		t.Fatal(err)
	}
	started.Supervisor.PID = syscall.Getpid()
	if err := dir.WriteStarted(*started); err != nil {
		t.Fatal(err)
	}
	out, err := y.command("kill", "--signal", "KILL", "--json", string(id)).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), `"state":"lost"`) || !strings.Contains(string(out), `"supervisor_alive":false`) {
		t.Errorf("kill says %s", out)
	}
}

// How a run really ended is shown beside that it was lost, by everything that shows
// the run, and is verified with it.
func TestLaterEvidenceIsShown(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	id := string(y.killed())
	found, err := filepath.Glob(filepath.Join(y.work, "home", ".local", "state", "paddock", "runs", "*", id))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	// As if the supervisor had been killed a moment later: it knew, and hadn't said.
	text := `{"version":1,"outcome":{"state":"exited","reason":{"kind":"exit","exit_code":3},"leftovers":0,"survivors":0,"stdout":{"bytes":6},"stderr":{"bytes":0},"ended_at":"2026-11-29T12:00:00Z","settled_at":"2026-11-29T12:00:00Z"}}` + "\n"
	if err := os.WriteFile(filepath.Join(found[0], ".new-0011223344556677"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"show", id}, []string{"lost: its supervisor vanished", "addendum     exited with status 3; known since "}},
		{[]string{"status", "--json", id}, []string{`"state":"lost"`, `"addenda":[{"at":`, `"source":"leftover"`, `"exit_code":3`}},
		{[]string{"ps", "--all"}, []string{id, "lost"}},
		{[]string{"verify", id}, []string{"ok     addenda"}},
		{[]string{"audit", "list", "--kind", "addendum"}, []string{id + "  exited 3, stdout 6 bytes"}},
		{[]string{"audit", "verify"}, []string{"all whole and in order"}},
		{[]string{"state", "check"}, []string{"all records can be read"}},
	} {
		out := y.output(c.args...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("paddock %s doesn't say %q:\n%s", strings.Join(c.args, " "), want, out)
			}
		}
	}
}
