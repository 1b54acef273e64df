//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

// TestLoginAtATerminal: what is secret isn't shown as it is typed, and who gives up finds
// the terminal as it was.
func TestLoginAtATerminal(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	s := y.serve()
	defer s.end()
	_, code, ok := strings.Cut(s.login, "#")
	if !ok {
		t.Fatalf("no link: %q", s.login)
	}
	g := newGlass(t)
	before := g.settings()
	home := t.TempDir()
	begin := func() *testproc.Cmd {
		cmd := testproc.Command(t, testproc.Program(t, "paddock"), "login", "--server", s.url)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = g.theirs, g.theirs, g.theirs
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	given := begin()
	g.until("Name (empty")
	g.types("somebody\n")
	g.until("Password: ")
	g.noEcho()
	if err := given.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	g.until("nobody logged in")
	if err := given.Wait(); err == nil {
		t.Error("who gave up is logged in")
	}
	if after := g.settings(); after != before {
		t.Errorf("the terminal isn't what it was: %+v, %+v", before, after)
	}
	cmd := begin()
	g.until("nobody logged in\r\nName (empty")
	g.types("\n")
	g.until("Code: ")
	g.noEcho()
	g.types(code + "\n")
	g.until("until ")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if strings.Contains(g.shown.String(), code) || strings.Contains(g.shown.String(), "pdk_") {
		t.Errorf("a secret was shown:\n%s", g.shown.String())
	}
	if all, err := filepath.Glob(filepath.Join(home, ".config", "paddock", "logins", "*.json")); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// noEcho waits until what is typed isn't shown.
func (g *glass) noEcho() {
	g.t.Helper()
	for g.settings().Lflag&unix.ECHO != 0 {
		pause()
	}
}
