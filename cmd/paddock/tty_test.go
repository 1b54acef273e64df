//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

// A glass is a person's terminal, as the person sees it.
type glass struct {
	t            *testing.T
	ours, theirs *os.File
	mu           sync.Mutex
	shown        strings.Builder
	more         sync.Cond
	over         bool
}

func newGlass(t *testing.T) *glass {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 99}); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	g := &glass{t: t, ours: ours, theirs: theirs}
	g.more.L = &g.mu
	var reading sync.WaitGroup
	reading.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := ours.Read(b)
			g.mu.Lock()
			g.shown.Write(b[:n])
			g.over = err != nil
			g.more.Broadcast()
			g.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { theirs.Close(); reading.Wait(); ours.Close() })
	return g
}

// until waits until text is shown.
func (g *glass) until(text string) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	late := time.AfterFunc(2*time.Minute, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.over = true
		g.more.Broadcast()
	})
	defer late.Stop()
	for !strings.Contains(g.shown.String(), text) {
		if g.over {
			g.t.Fatalf("never shown: %q; only %q", text, g.shown.String())
		}
		g.more.Wait()
	}
}

func (g *glass) types(text string) {
	g.t.Helper()
	if _, err := g.ours.WriteString(text); err != nil {
		g.t.Fatal(err)
	}
}

func (g *glass) settings() unix.Termios {
	g.t.Helper()
	s, err := unix.IoctlGetTermios(int(g.theirs.Fd()), unix.TCGETS)
	if err != nil {
		g.t.Fatal(err)
	}
	return *s
}

// TestPersonAtATerminal: keys reach the program one by one, ^C too, the size is the person's
// and follows it, what asks isn't shown, and who leaves finds the terminal as it was and the
// run going on.
func TestPersonAtATerminal(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, policy := filepath.Join(dir, "root"), filepath.Join(dir, "policy.yaml")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("version: 1\nroots: [{path: %q}]\nexecutables: [{name: sh, path: /bin/sh, args: any, pty: true, line_breaks: true}]\ncontainment: {require: off}\n", root)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	testproc.Build(t, "paddock/cmd/paddock-stage")
	g := newGlass(t)
	before := g.settings()
	begin := func(args ...string) *testproc.Cmd {
		cmd := testproc.Command(t, testproc.Program(t, "paddock"), args...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = root, g.theirs, g.theirs, g.theirs
		cmd.Env = append(os.Environ(), "PADDOCK_POLICY="+policy, "PADDOCK_STATE="+filepath.Join(dir, "state"), "HOME="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	cmd := begin("run", "--tty", "--", "sh", "-c", `trap 'echo "resized to $(stty size)"' WINCH; trap 'echo interrupted' INT
		printf 'id\033[6n\033]52;c;?\007\033[1mbold\033[m\n'; stty size; echo up
		until read x; do :; done; echo "got $x"; until read y; do :; done; echo "and $y"; exit 6`)
	g.until("up")
	g.types("\x03")
	g.until("interrupted")
	if err := unix.IoctlSetWinsize(int(g.ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: 70}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(unix.SIGWINCH); err != nil { // which a terminal sends to who is in front
		t.Fatal(err)
	}
	g.until("resized to 20 70")
	g.types("one\r")
	g.until("got one")
	g.types("\x10\x11")
	g.until("the run goes on: paddock attach ")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if after := g.settings(); after != before {
		t.Errorf("the terminal was %+v and is %+v", before, after)
	}
	g.mu.Lock()
	seen := g.shown.String()
	g.mu.Unlock()
	if !strings.Contains(seen, "33 99") || !strings.Contains(seen, "id\x1b[1mbold\x1b[m") || strings.Contains(seen, "\x1b[6n") || strings.Contains(seen, "]52") {
		t.Errorf("shown: %q", seen)
	}
	_, id, _ := strings.Cut(seen, "paddock attach ")
	cmd = begin("attach", strings.Fields(id)[0])
	g.until("got one\r\n") // again: it is shown what was before
	g.types("two\r")
	g.until("and two")
	var exit *testproc.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 6 {
		t.Errorf("the end: %v", err)
	}
	if after := g.settings(); after != before {
		t.Errorf("the terminal was %+v and is %+v", before, after)
	}
}

// TestPipedAtATerminal: all of a pipe is typed, however late the program reads, and who runs
// what is over at once is told of no keys.
func TestPipedAtATerminal(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	text, err := os.ReadFile(filepath.Join(y.work, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	with := strings.Replace(string(text), "executables:", "executables:\n  - {name: sh, path: /bin/sh, args: any, pty: true, line_breaks: true}", 1)
	if err := os.WriteFile(filepath.Join(y.work, "policy.yaml"), []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, in, want string }{
		{"echo hi", "", "hi\r\n"},
		{"sleep 0.3; head -n 5000 | wc -l", strings.Repeat(strings.Repeat("x", 59)+"\n", 5000), "5000\r\n"},
	} {
		cmd := y.command("run", "--tty", "--", "sh", "-c", c.line)
		cmd.Stdin = strings.NewReader(c.in)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), c.want) || strings.Contains(string(out), "[paddock") {
			t.Errorf("%s: %v, …%q", c.line, err, out[max(0, len(out)-300):])
		}
	}
}

// TestNoTerminalToSitAt: who attaches to a run without a terminal is told what shows it.
func TestNoTerminalToSitAt(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	id, err := y.command("run", "-d", "--", "prog", "say", "hi").Output()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := y.command("wait", strings.TrimSpace(string(id))).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := y.command("attach", strings.TrimSpace(string(id))).CombinedOutput()
	var exit *testproc.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 || !strings.Contains(string(out), "has no terminal") || !strings.Contains(string(out), "paddock logs -f "+strings.TrimSpace(string(id))) {
		t.Errorf("%v: %s", err, out)
	}
}
