//go:build linux

package main

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

// A cable leads connections from a port of its own to an address, until it is pulled.
type cable struct {
	net.Listener
	work sync.WaitGroup

	mu     sync.Mutex
	pulled bool              // guarded by mu
	ends   map[net.Conn]bool // guarded by mu
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Listener: l, ends: map[net.Conn]bool{}}
	c.work.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil || !c.holds(near, far) {
				_ = near.Close() // who is cut off sees no more than that
				if err == nil {
					_ = far.Close() // the same
				}
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				c.work.Go(func() {
					_, _ = io.Copy(way[0], way[1]) // until one of them ends
					_, _ = way[0].Close(), way[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() { _ = l.Close(); c.pull(); c.work.Wait() })
	return c
}

// holds says whether the cable is in; then it ends these when it is pulled.
func (c *cable) holds(ends ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range ends {
		c.ends[end] = true
	}
	return !c.pulled
}

// pull cuts all that goes through it, and says how many ends that had.
func (c *cable) pull() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = true
	n := len(c.ends)
	for end := range c.ends {
		_ = end.Close() // that is what is played
	}
	clear(c.ends)
	return n
}

func (c *cable) plug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulled = false
}

// A person sits at the terminal of a run that a worker carries out, at a server that has
// none: the size follows the person's, who may leave and come back, and when the worker's
// connection is cut nothing is lost, shown twice or typed twice. What is kept are the bytes
// that the program printed.
func TestPersonAtATerminalFarAway(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	policy, err := os.ReadFile(filepath.Join(y.work, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	y.write("policy.yaml", strings.Replace(string(policy), "executables:", "executables:\n  - {name: sh, path: /bin/sh, args: any, pty: true, line_breaks: true}", 1))
	s, at, added := y.queue()
	line := newCable(t, strings.TrimPrefix(s.url, "http://"))
	worker := y.hire("http://"+line.Addr().String(), at, added)
	defer func() {
		if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = worker.Wait() // it was ended
		s.end()
	}()
	g := newGlass(t)
	before := g.settings()
	begin := func(args ...string) *testproc.Cmd {
		t.Helper()
		cmd := s.at(args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = g.theirs, g.theirs, g.theirs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	gate := filepath.Join(y.work, "gate")
	cmd := begin("run", "--tty", "--", "sh", "-c", `stty -echo; trap 'echo "resized to $(stty size)"' WINCH; stty size; echo up
		until read x; do :; done; printf '%s\377\000\033[1m\033]52;c;?\007\n' "got $x"
		until test -e `+gate+`; do sleep 0.05; done; echo through
		until read y; do :; done; echo "and $y"; until read z; do :; done; echo "last $z"; exit 6`)
	g.until("up")
	if err := unix.IoctlSetWinsize(int(g.ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: 70}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(unix.SIGWINCH); err != nil { // which a terminal sends to who is in front
		t.Fatal(err)
	}
	g.until("resized to 20 70")
	g.types("one\r")
	g.until("got one")
	if line.pull() == 0 {
		t.Error("nothing went through the cable")
	}
	y.write("gate", "")
	g.types("two\r")
	line.plug()
	g.until("and two")
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
	for _, once := range []string{"33 99\r\n", "resized", "got one", "through", "and two"} {
		if n := strings.Count(seen, once); n != 1 {
			t.Errorf("%q is shown %d times: %q", once, n, seen)
		}
	}
	_, rest, _ := strings.Cut(seen, "paddock attach ")
	id := strings.Fields(rest)[0]
	cmd = begin("attach", id)
	g.types("three\r")
	g.until("last three")
	var exit *testproc.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 6 {
		t.Errorf("the end: %v", err)
	}
	want := "33 99\r\nup\r\nresized to 20 70\r\ngot one\xff\x00\x1b[1m\x1b]52;c;?\a\r\nthrough\r\nand two\r\nlast three\r\n"
	kept, err := filepath.Glob(filepath.Join(y.work, "worker", "runs", "*", id, "stdout"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q, %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != want {
		t.Errorf("kept is %q, want %q (%v)", text, want, err)
	}
	if text, err := s.at("output", "--raw", id).Output(); err != nil || string(text) != want {
		t.Errorf("the server shows %q, want %q (%v)", text, want, err)
	}
}
