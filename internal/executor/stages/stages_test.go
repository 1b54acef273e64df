//go:build linux

package stages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/plain", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/stage", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{dir + "/stage": "", dir + "/none": "is missing", dir + "/plain": "isn't an executable file", dir: "isn't an executable file", dir + "/plain/x": "can't be used", "": "is missing"}
	for stage, want := range tests {
		got, err := Find(stage)
		switch {
		case want == "" && (err != nil || got.Path != stage):
			t.Errorf("%q: %+v, %v", stage, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", stage, err, want)
		}
	}
	beside, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Find(""); err == nil || !strings.Contains(err.Error(), "go build -o "+filepath.Join(filepath.Dir(beside), "paddock-stage")) {
		t.Errorf("no install line: %v", err)
	}
}

// An idle supervisor that was ended is found out and not taken.
func TestDeadIdleSupervisorIsNotTaken(t *testing.T) {
	t.Parallel()
	p := newPool(t, 1)
	defer p.Close()
	idle := func() *Stage {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.idle) == 0 {
			return nil
		}
		return p.idle[0]
	}
	until(t, func() bool { return idle() != nil })
	dead := idle()
	if dead.silent() {
		t.Fatal("a supervisor that waits looks dead")
	}
	if err := dead.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, dead.silent)
	taken, err := p.Take(false)
	if err != nil {
		t.Fatal(err)
	}
	if taken.PID() == dead.PID() || taken.silent() {
		t.Error("a dead one was taken")
	}
	if err := taken.Conn().Close(); err != nil {
		t.Error(err)
	}
	<-taken.Reap() // it ends when its connection does
	<-dead.Reap()
}

// One that is stopped keeps no pool from closing.
func TestAStoppedSupervisorIsEnded(t *testing.T) {
	t.Parallel()
	p := newPool(t, 1)
	var idle *Stage
	until(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.idle) > 0 {
			idle = p.idle[0]
			idle.patience = time.Millisecond
		}
		return idle != nil
	})
	testproc.Stop(t, idle.PID())
	p.Close()
	<-idle.Reap()
	if idle.Ended() {
		t.Error("it ended by itself, so it wasn't stopped")
	}
}

// What is taken is replaced: at once where none is left, else when its run is over, if that
// takes longer than a moment, or after a while. A pool that is closed meanwhile starts none.
func TestWhatIsTakenIsReplaced(t *testing.T) {
	t.Parallel()
	p := newPool(t, 2)
	p.mu.Lock()
	var waits []time.Duration
	var over func() // the last of them
	p.after = func(d time.Duration, f func()) *time.Timer {
		waits, over = append(waits, d), f
		return time.NewTimer(time.Hour)
	}
	p.mu.Unlock()
	idle := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.idle)
	}
	take := func() *Stage {
		t.Helper()
		until(t, func() bool { return idle() == 2 })
		s, err := p.Take(true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	waiting := func(want ...time.Duration) {
		t.Helper()
		p.fillers.Wait()
		if n := idle(); n != 1 || !slices.Equal(waits, want) {
			t.Errorf("%d idle after waits of %v, want one after %v", n, waits, want)
		}
	}
	end := func(s *Stage) {
		t.Helper()
		if err := s.Conn().Close(); err != nil {
			t.Error(err)
		}
		<-s.Reap()
	}
	first := take()
	waiting(lull)
	over()
	waiting(lull, longest-lull)
	end(first)

	second := take()
	waiting(lull, longest-lull, lull)
	end(second)
	over() // its run was short

	third := take()
	over()
	over() // its run is long
	fourth := take()
	waiting(lull, longest-lull, lull, lull, longest-lull, lull)
	fifth, err := p.Take(true) // the last that there is
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return idle() == 2 })
	p.Close()
	if n := idle(); n != 0 {
		t.Errorf("%d are left in a closed pool", n)
	}
	for _, s := range []*Stage{third, fourth, fifth} {
		end(s)
	}
	over()
	if n := idle(); n != 0 {
		t.Errorf("%d are started in a closed pool", n)
	}
}

// What is made ready ahead is what a run like the last can use.
func TestSupervisorsMakeReadyWhatRunsCanUse(t *testing.T) {
	t.Parallel()
	p := newPool(t, 0)
	for _, c := range []struct {
		held paddock.ContainAs
		want string
	}{
		{paddock.ContainAs{Level: paddock.Full, Network: "none"}, "ground"},
		{paddock.ContainAs{Level: paddock.Full, Network: "none", Account: &paddock.Account{UID: 1, GID: 1}}, "ahead"},
		{paddock.ContainAs{Level: paddock.Full, Network: "none", Read: []string{"/srv"}}, "ahead"},
		{paddock.ContainAs{Level: paddock.Full, Network: "none", Workspace: paddock.OverlayWorkspace}, "ahead"},
		{paddock.ContainAs{Level: paddock.Full, Network: "host"}, ""},
		{paddock.ContainAs{Level: paddock.Full, Network: "allowlist"}, "ground"},
		{paddock.ContainAs{Level: paddock.Standard, Network: "none"}, "hedge"},
		{paddock.ContainAs{Level: paddock.Off, Network: "host"}, "between"},
		{paddock.ContainAs{}, "between"},
	} {
		p.Resemble(c.held)
		s, err := p.Take(true)
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		until(t, func() bool { // it may not be executed yet
			b, err = os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID()))
			return len(b) > 0 || err != nil
		})
		if _, argument, _ := strings.Cut(string(b), "\x00"); strings.TrimSuffix(argument, "\x00") != c.want || err != nil {
			t.Errorf("%+v: started as %q, %v", c.held, b, err)
		}
		if err := s.Conn().Close(); err != nil {
			t.Error(err)
		}
		<-s.Reap()
	}
}

func TestClosedPool(t *testing.T) {
	t.Parallel()
	p := newPool(t, 3)
	p.Close()
	p.Close()
	if s, err := p.Take(false); err == nil {
		t.Errorf("took %d", s.PID())
	}
}

func newPool(t *testing.T, warm int) *Pool {
	t.Helper()
	binary := Binary{Path: testproc.Build(t, "paddock/cmd/paddock-stage")}
	p, err := NewPool(t.Context(), binary, t.TempDir(), warm, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("waited in vain")
		}
	}
}

// What was expected is taken by who needs that kind, and ended when nobody does.
func TestAnExpectedSupervisorIsTakenOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t, 0)
	p.Expect(false)
	p.Expect(false) // one is enough
	early := p.early
	<-early.ready
	other, err := p.Take(true)
	if err != nil || other == early.stage {
		t.Fatalf("one that leaves its cgroup: %v", err)
	}
	got, err := p.Take(false)
	if err != nil || got != early.stage {
		t.Fatalf("the expected one wasn't taken: %v", err)
	}
	if next, _ := p.expected(false); next != nil {
		t.Error("it is expected again")
	}
	for _, s := range []*Stage{other, got} {
		if err := s.Conn().Close(); err != nil {
			t.Error(err)
		}
		<-s.Reap()
	}
	p.Expect(true)
	last := p.early
	p.Close()
	if last.stage == nil || last.stage.Conn().Close() == nil {
		t.Error("the one that nobody took was left open")
	}
	<-last.stage.Reap()
	p.Expect(true)
	if p.early != nil {
		t.Error("a closed pool starts one")
	}
}
