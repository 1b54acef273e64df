//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/rundir/record/process"
	"paddock/internal/testproc"
)

// inventory says what is below dir and when it changed.
func inventory(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// everything calls f with everything below dir, which the test may make its own again.
func everything(t *testing.T, dir string, f func(path string, mode fs.FileMode) error) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Mode()&fs.ModeSocket != 0 {
			return err
		}
		return f(path, info.Mode())
	})
	if err != nil {
		t.Error(err)
	}
}

// killed starts a run and ends its supervisor with -9.
func (y *yard) killed() paddock.RunID {
	y.t.Helper()
	id := strings.TrimSpace(y.output("run", "-d", "--", "prog", "wait"))
	var run paddock.Run
	if err := json.Unmarshal([]byte(y.output("status", "--json", id)), &run); err != nil {
		y.t.Fatal(err)
	}
	if err := syscall.Kill(run.Supervisor.PID, syscall.SIGKILL); err != nil {
		y.t.Fatal(err)
	}
	for process.Alive(*run.Supervisor) {
		pause()
	}
	return run.ID
}

// A state directory that can't be written to shows all that it has, tells the
// truth of runs that nobody looks after, and isn't touched.
func TestReadOnlyState(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	if err := os.Chmod(filepath.Join(y.work, "policy.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(y.work, "home", ".local", "state", "paddock")
	done := strings.TrimSpace(y.output("run", "-d", "--", "prog", "both"))
	y.output("wait", done)
	if err := testproc.Unlocked(state + "/runs/*/*/lock"); err != nil { // its supervisor tidies up
		t.Fatal(err)
	}
	lost := string(y.killed())

	asNobody := os.Geteuid() == 0
	everything(t, filepath.Join(y.work, "home"), func(path string, mode fs.FileMode) error {
		more := mode.Perm() | mode.Perm()>>3&0o55 | mode.Perm()>>6&0o5
		if !asNobody {
			more = mode.Perm() &^ 0o222
		}
		return os.Chmod(path, more)
	})
	t.Cleanup(func() {
		everything(t, filepath.Join(y.work, "home"), func(path string, mode fs.FileMode) error { return os.Chmod(path, mode.Perm()|0o700) })
	})
	before := inventory(t, state)
	look := func(status int, args ...string) string {
		t.Helper()
		cmd := y.command(append(args, "--state", state)...)
		if asNobody {
			testproc.AsUser(t, cmd, testproc.Nobody)
		}
		out, err := cmd.CombinedOutput()
		wantStatus(t, err, status)
		if t.Failed() {
			t.Fatalf("paddock %s: %s", strings.Join(args, " "), out)
		}
		return string(out)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   []string
	}{
		{[]string{"ps"}, 0, []string{"the state directory is only read"}},
		{[]string{"ps", "--all"}, 0, []string{done, lost, "exited", "lost"}},
		{[]string{"show", done}, 0, []string{"note: the state directory is only read", "exited with status 0"}},
		{[]string{"status", lost}, 0, []string{"lost: its supervisor vanished", "this is not written down"}},
		{[]string{"wait", lost}, desk.ExitFault, []string{"lost"}},
		{[]string{"output", done}, 0, []string{"out"}},
		{[]string{"logs", done}, 0, []string{"out", "err"}},
		{[]string{"verify", done}, 0, []string{"stdout file"}},
		{[]string{"audit", "verify"}, 0, []string{"all whole and in order"}},
		{[]string{"audit", "list"}, 0, []string{" end ", "exited 0"}},
		{[]string{"audit", "head"}, 0, []string{"sha256:"}},
		{[]string{"audit", "checkpoint", "--key", filepath.Join(y.work, "home", "key")}, desk.ExitFault, nil},
		{[]string{"run", "--", "prog", "both"}, desk.ExitRefused, []string{"unrecordable", "as the user whose it is"}},
		{[]string{"kill", lost}, desk.ExitRefused, []string{"unrecordable"}},
		{[]string{"prune", "--runs", "1"}, desk.ExitFault, nil},
		{[]string{"keep", done}, desk.ExitFault, nil},
	} {
		out := look(c.status, c.args...)
		for _, text := range c.want {
			if !strings.Contains(out, text) {
				t.Errorf("paddock %s doesn't say %q:\n%s", strings.Join(c.args, " "), text, out)
			}
		}
	}
	if after := inventory(t, state); after != before {
		t.Errorf("it was written to:\n%s\nwas\n%s", after, before)
	}
}

// Root reads what is another user's, and leaves it alone.
func TestRootReadsAnothersState(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root is two users")
	}
	y := newYard(t)
	state := filepath.Join(y.work, "home", ".local", "state", "paddock")
	done := strings.TrimSpace(y.output("run", "-d", "--", "prog", "both"))
	y.output("wait", done)
	if err := testproc.Unlocked(state + "/runs/*/*/lock"); err != nil { // its supervisor tidies up
		t.Fatal(err)
	}
	everything(t, state, func(path string, _ fs.FileMode) error { return os.Lchown(path, testproc.Nobody, testproc.Nobody) })
	before := inventory(t, state)
	if out := y.output("ps", "--all"); !strings.Contains(out, done) || !strings.Contains(out, "is only read") {
		t.Errorf("ps says %s", out)
	}
	y.output("verify", done)
	for _, args := range [][]string{{"run", "--", "prog", "both"}, {"audit", "checkpoint"}, {"discard", done}} {
		out, err := y.command(args...).CombinedOutput()
		if err == nil {
			t.Errorf("paddock %s: %s", strings.Join(args, " "), out)
		}
	}
	if after := inventory(t, state); after != before {
		t.Errorf("it was written to:\n%s\nwas\n%s", after, before)
	}
}
