//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"paddock/internal/testproc"
)

// TestScripts runs everything that a user can type.
func TestScripts(t *testing.T) {
	paddock := testproc.Program(t, "paddock")
	program := testproc.Program(t, "prog")
	if stage := testproc.Build(t, "paddock/cmd/paddock-stage"); filepath.Dir(stage) != filepath.Dir(paddock) {
		t.Fatalf("%s isn't beside %s", stage, paddock)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(paddock)+":"+os.Getenv("PATH"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("PROG", program)
			e.Setenv("NEWLINE", "\n")
			e.Setenv("BAD", "\xff\xfe")
			e.Setenv("ESCAPE", "\x1b")
			return furnish(e.WorkDir, program)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "each": each, "until": until, "rest": rest, "keep": keep, "many": many, "crowd": crowd, "recipe": recipe,
			"swap": swap, "corrupt": corrupt, "spoil": spoil, "fill": fill,
		},
	})
}

// furnish makes a project to run in and a policy outside it.
func furnish(work, program string) error {
	if err := os.Chmod(work, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{"home", "proj/sub"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(work, "policy.yaml"), []byte(policyText(filepath.Join(work, "proj"), program)), 0o600)
}

func policyText(root, program string) string {
	return fmt.Sprintf(`version: 1
roots: [{path: %q}]
executables:
  - {name: prog, path: %q, args: any}
  - {name: gone, path: %q, args: any}
  - {name: broken, path: %q, args: any}
environment: {accept: {CI: <word>}}
rules:
  - {name: no-forbidden, deny: 'argv.exists(a, a == "--forbidden")', message: "--forbidden is not for agents. Run the plain build instead."}
containment: {require: off}
`, root, program, filepath.Join(root, "gone"), filepath.Join(filepath.Dir(root), "broken"))
}

// exits runs a command that must end with a status: exits N COMMAND…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND…")
	}
	status := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *testproc.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if args[0] != fmt.Sprint(status) {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// each runs a command once for every line of a file, in place of LINE, and
// wants a status: each N FILE COMMAND…
func each(ts *testscript.TestScript, neg bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		words := []string{args[0]}
		for _, word := range args[2:] {
			words = append(words, strings.ReplaceAll(word, "LINE", strings.TrimSuffix(line, "\n")))
		}
		exits(ts, neg, words)
	}
}

// until waits for a file: until FILE [TEXT]
func until(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for {
		waitForFile(path)
		text, err := os.ReadFile(path)
		ts.Check(err)
		if len(args) < 2 || strings.Contains(string(text), args[1]) {
			return
		}
		pause()
	}
}

// rest waits until nothing is left to be done for any run: they are settled, their
// supervisors are gone, and so is what leads to runs that go on.
func rest(ts *testscript.TestScript, _ bool, _ []string) {
	for {
		ts.Check(ts.Exec("paddock", "ps")) // whoever comes by takes away what is done
		entries, err := os.ReadDir(filepath.Join(ts.Getenv("PADDOCK_STATE"), "active"))
		ts.Check(err)
		if len(entries) == 0 {
			return
		}
		pause()
	}
}

// keep puts the last standard output, without its line end, into a variable.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// many makes a variable of N times a text: many NAME N TEXT
func many(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.Repeat(args[2], number(args[1:])))
}

// crowd runs a command with N more words and wants a status: crowd S N COMMAND…
func crowd(ts *testscript.TestScript, neg bool, args []string) {
	words := append([]string{args[0]}, args[2:]...)
	exits(ts, neg, append(words, strings.Split(strings.Repeat("x ", number(args[1:])), " ")...))
}

// swap puts other text in the place of a run's kept output: swap RUN STREAM
func swap(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("PADDOCK_STATE"), "runs", "*", args[0], args[1]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%d files", len(found))
	}
	ts.Check(os.WriteFile(found[0], []byte("another\n"), 0o600))
}

// spoil changes a byte of a run's kept file: spoil RUN FILE
func spoil(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("PADDOCK_STATE"), "runs", "*", args[0], args[1]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%d files", len(found))
	}
	data, err := os.ReadFile(found[0])
	ts.Check(err)
	data[len(data)/3] ^= 0x55
	ts.Check(os.WriteFile(found[0], data, 0o600))
}

// corrupt changes a text in a file, the first time it is there: corrupt FILE OLD NEW
func corrupt(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	changed := strings.Replace(text, args[1], args[2], 1)
	if changed == text {
		ts.Fatalf("%q isn't in %s", args[1], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(changed), 0o600))
}

// fill writes the script's variables into files and makes them the user's alone:
// fill FILE…
func fill(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(errors.Join(os.Remove(ts.MkAbs(name)), os.WriteFile(ts.MkAbs(name), []byte(text), 0o600)))
	}
}

// waitForFile returns when there is a file at path. Another process makes it,
// so there is nothing to be woken by but looking.
func waitForFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		pause()
	}
}

func pause() { <-time.After(5 * time.Millisecond) }
