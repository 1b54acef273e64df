//go:build linux

package partition_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

// check holds what everybody was told against what happened.
func (l *load) check() {
	f := l.f
	f.t.Helper()
	done := make(chan struct{})
	go func() { f.running.Wait(); close(done) }()
	var stuck []*shot
	defer func() {
		for _, s := range stuck {
			f.t.Log(l.standing(s))
		}
	}()
	until(f.t, "all readers have read to the end", func() string {
		stuck = nil
		select {
		case <-done:
			return ""
		default:
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		var left []string
		for _, s := range l.shots {
			if len(s.stories) < 2 {
				left = append(left, s.key+" "+string(s.id))
				stuck = append(stuck, s)
			}
		}
		return fmt.Sprint("those of ", left)
	})
	stuck = nil
	for _, s := range l.shots {
		if len(s.ids) != 1 {
			f.t.Errorf("%s: one key, and the runs %v", s.key, s.ids)
			continue
		}
		l.settled(s)
		l.started(s)
		l.told(s)
	}
	for status, n := range l.bad {
		if status != http.StatusServiceUnavailable {
			f.t.Errorf("%d answers were %d; that a machine or the database is away is 503", n, status)
		}
	}
}

// standing is how things are with a run whose readers don't come to an end: what each
// server answers, and where it is kept.
func (l *load) standing(s *shot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, which needs %q, has %d readers at the end", s.id, s.needs, len(s.stories))
	ctx, over := context.WithTimeout(l.f.life, 20*time.Second)
	defer over()
	for _, server := range []string{"s1", "s2"} {
		for _, path := range []string{"", "/output?limit=1", "/events", "/events?after=2"} {
			text, err := l.glance(ctx, urlOf(server)+"/api/v1/runs/"+string(s.id)+path)
			fmt.Fprintf(&b, "\n%s %s: %.800s %v", server, path, text, err)
		}
	}
	for name, m := range l.f.all {
		if dir := m.directory(s.id); dir != "" {
			outcome, err := os.ReadFile(filepath.Join(dir, "outcome.json"))
			fmt.Fprintf(&b, "\n%s has it: %s %v", name, outcome, err)
		}
		log, _ := os.ReadFile(m.log())
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, string(s.id)) {
				fmt.Fprintf(&b, "\n%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
	return b.String()
}

// glance is what comes of an answer within a moment.
func (l *load) glance(ctx context.Context, url string) ([]byte, error) {
	ctx, over := context.WithTimeout(ctx, 2*time.Second)
	defer over()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+l.f.token)
	a, err := l.f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return append([]byte(a.Status+" "), text...), err
}

// settled finds that both servers say the same of a run, which has ended.
func (l *load) settled(s *shot) {
	t := l.f.t
	t.Helper()
	until(t, "run "+string(s.id)+" is settled", func() string {
		if s.end = l.status("s2", s.id); !s.end.State.Settled() {
			return string(s.end.State)
		}
		return ""
	})
	other := l.status("s1", s.id)
	if other.State != s.end.State {
		t.Errorf("%s is %s by s1 and %s by s2", s.id, other.State, s.end.State)
	}
	if s.end.State == paddock.RefusedState || s.end.State == paddock.FailedToStart {
		t.Logf("run %s is %s: %+v", s.id, s.end.State, s.end.Outcome.Reason)
	}
	for _, story := range s.stories {
		if story.State != string(s.end.State) {
			t.Errorf("a reader of %s was told that it is %s; it is %s", s.id, story.State, s.end.State)
		}
	}
}

// started finds that the run was started once, or not at all if it says so.
func (l *load) started(s *shot) {
	t := l.f.t
	t.Helper()
	mark, err := os.ReadFile(filepath.Join(l.f.work, "marks", s.key))
	n := bytes.Count(mark, []byte("\n"))
	if err != nil && !os.IsNotExist(err) || n > 1 {
		t.Errorf("run %s was started %d times, %v", s.id, n, err)
	}
	never := s.end.State == paddock.FailedToStart || s.end.State == paddock.RefusedState
	if never && n > 0 || s.end.State == paddock.Exited && n != 1 {
		t.Errorf("run %s is %s and was started %d times: %+v", s.id, s.end.State, n, s.end.Outcome)
	}
	var at []string
	for name, m := range l.f.all {
		if m.directory(s.id) != "" {
			at = append(at, name)
		}
	}
	if len(at) > 1 || len(at) == 0 && n > 0 {
		t.Errorf("run %s is on the machines %v, and was started %d times", s.id, at, n)
	}
}

// told finds that every reader got what is kept, which is what was printed.
func (l *load) told(s *shot) {
	t := l.f.t
	t.Helper()
	want := s.expected()
	for _, m := range l.f.all {
		if dir := m.directory(s.id); dir != "" {
			kept, err := os.ReadFile(filepath.Join(dir, "stdout"))
			if err != nil && !os.IsNotExist(err) || !bytes.HasPrefix(want, kept) || s.end.State == paddock.Exited && len(kept) != len(want) {
				t.Errorf("run %s is %s, printed %d bytes, and %d are kept: %v", s.id, s.end.State, len(want), len(kept), err)
			}
			want = kept
		} else {
			continue
		}
		for i, story := range s.stories {
			if !bytes.Equal(story.Streams["stdout"], want) || len(story.Streams["stderr"]) > 0 {
				t.Errorf("reader %d of run %s (%s) was told %d bytes, and %d are kept", i, s.id, s.end.State, len(story.Streams["stdout"]), len(want))
			}
		}
	}
}

// tally is what became of all, for people.
func (l *load) tally() string {
	states, connections := map[string]int{}, 0
	for _, s := range l.shots {
		what := string(s.end.State)
		if s.end.Outcome != nil && s.end.State != paddock.Exited {
			what += " (" + string(s.end.Outcome.Reason.Kind) + " " + s.end.Outcome.Reason.Step + ")"
		}
		states[what]++
		for _, story := range s.stories {
			connections += story.Connections
		}
	}
	text, _ := json.Marshal(states)
	return fmt.Sprintf("%d runs: %s; %d readers by %d connections; answers that were no answer: %v", len(l.shots), text, 2*len(l.shots), connections, l.bad)
}

// end ends all machines, and looks at what is left.
func (f *field) end() {
	f.t.Helper()
	f.client.CloseIdleConnections()
	for _, name := range []string{"w1", "w2", "w3", "w4", "s1", "s2"} {
		f.all[name].end()
	}
	until(f.t, "no process is left", func() string {
		if left := f.processes(); len(left) > 0 {
			words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", left[0]))
			return fmt.Sprintf("%v: %q", left, words)
		}
		return ""
	})
	for name, m := range f.all {
		must(f.t, testproc.Unlocked(filepath.Join(m.state, "runs", "*", "*", "lock")))
		m.before = nil
		if segments, _ := filepath.Glob(filepath.Join(m.state, "journal", "*.jsonl")); len(segments) == 0 {
			continue // it had nothing to do
		}
		if out, err := m.command("audit", "verify", "--state", m.state).CombinedOutput(); err != nil {
			f.t.Errorf("the journal of %s: %v\n%s", name, err, out)
		}
		left, _ := filepath.Glob(filepath.Join(m.state, "active", "*"))
		for _, entry := range left {
			f.over(m, paddock.RunID(filepath.Base(entry)))
		}
		if left, _ := filepath.Glob(filepath.Join(m.state, "leases", "*")); len(left) > 0 {
			f.t.Logf("%s has leases of runs that are over: %d", name, len(left))
		}
		text, err := os.ReadFile(m.log())
		must(f.t, err)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "panic") || strings.Contains(line, "DATA RACE") || strings.Contains(line, "status=500") {
				f.t.Errorf("%s says: %s", name, line)
			}
		}
	}
}

// over finds that a run is over that still has an entry among those that go on: it is
// dropped when the run's supervisor is gone, by the worker, or where that was asked to end
// before, by its next process.
func (f *field) over(m *machine, id paddock.RunID) {
	f.t.Helper()
	if _, err := os.Stat(filepath.Join(m.directory(id), "outcome.json")); err != nil {
		f.t.Errorf("%s has run %s, which goes on: %v", m.name, id, err)
		return
	}
	f.t.Logf("%s ended before the supervisor of run %s did", m.name, id)
}

// supervisors are the processes of a machine that each look after a run: the first of its
// stages.
func (m *machine) supervisors() (pids []int) {
	stage := filepath.Join(m.bin, "paddock-stage")
	all := map[int]int{} // parents
	for _, pid := range m.f.processes() {
		file, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		stat, bad := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bad != nil || file != stage {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		var parent int
		if _, err := fmt.Sscan(fields[1], &parent); err == nil {
			all[pid] = parent
		}
	}
	for pid, parent := range all {
		if _, within := all[parent]; !within {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
