//go:build linux

// Package partition_test has two servers, four workers and one PostgreSQL, each in a
// network namespace of its own, and takes their cables out, kills them, has their clocks
// wrong and their database restarted while runs are asked for and read. Every run that was
// accepted must reach one truthful end, be started at most once, and be told byte by byte
// to every reader that came back often enough.
//
// `make test` has a short version, `make partitions` the whole: docs/reports/partitions.md.
package partition_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// quickly are times that are short and still allowed.
const quickly = "{beat: 200ms, silent: 1500ms, dead_man: 8s}"

// lostAfter is the dead-man time of quickly.
const lostAfter = 8 * time.Second

// TestPartition has one of each: a worker is cut off for longer than its runs go on by
// themselves, another one's process is killed, a server is killed, and the database is
// stopped at once and started again.
func TestPartition(t *testing.T) {
	t.Parallel()
	within(t, quickly, oneOfEach)
}

func oneOfEach(f *field) {
	t := f.t
	l := &load{f: f, seed: 1, bad: map[int]int{}}
	gate := filepath.Join(f.work, "gate")
	cut := l.add(20, "w1", "; exec sleep 600")
	kept := l.add(20, "w2", "; until test -e gate; do sleep 0.1; done")
	for range 10 {
		l.add(30, "", "")
	}
	for _, s := range []*shot{cut, kept} {
		l.until(s, "s2", paddock.Running)
	}
	f.net.cut("w1")
	since := time.Now()
	f.all["w2"].kill()
	f.all["w2"].start()
	l.until(cut, "s2", paddock.Unreachable)
	f.all["s1"].kill()
	f.db.stop()
	for range 10 {
		l.add(30, "", "")
	}
	f.db.start()
	f.all["s1"].serve()
	must(t, os.WriteFile(gate, nil, 0o600))
	l.until(cut, "s2", paddock.Lost)
	if took := time.Since(since); took < lostAfter {
		t.Errorf("run %s was called lost after %v", cut.id, took)
	}
	l.overByItself(cut, "w1")
	f.net.join("w1")
	l.check()
	// Where the database was away for longer than a run goes on by itself, it ended.
	if s := kept.end.State; s != paddock.Exited && !(s == paddock.Killed && kept.end.Outcome.Reason.Kind == paddock.ReasonLease) {
		t.Errorf("the run whose worker was killed is %s: %+v", s, kept.end.Outcome)
	}
	t.Log(l.tally())
	f.end()
}

// until waits until a server says that a run is as it should be.
func (l *load) until(s *shot, server string, want paddock.State) {
	l.f.t.Helper()
	until(l.f.t, s.key+" is "+string(want), func() string {
		l.mu.Lock()
		id := s.id
		l.mu.Unlock()
		if id == "" {
			return "it isn't accepted"
		}
		run := l.status(server, id)
		if run.State == want {
			return ""
		}
		if run.State.Settled() {
			l.f.t.Fatalf("run %s is %s, and should be %s: %+v", id, run.State, want, run.Outcome)
		}
		return string(run.State)
	})
}

// overByItself finds that a machine that nobody reached has ended a run itself, because
// its lease was over.
func (l *load) overByItself(s *shot, name string) {
	t := l.f.t
	t.Helper()
	var kept struct{ Outcome paddock.Outcome }
	text, err := os.ReadFile(filepath.Join(l.f.all[name].directory(s.id), "outcome.json"))
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Outcome.Reason.Kind != paddock.ReasonLease {
		t.Errorf("%s has of run %s: %s, %v", name, s.id, text, err)
	}
}
