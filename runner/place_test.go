//go:build linux

package runner

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// An attacker exchanges the working directory for a link to the outside as fast
// as it can. The program is placed in the directory that was judged, or refused.
func TestExchangedDirectoryNeverMovesTheProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	outside := t.TempDir()
	must(t, os.MkdirAll(w.root+"/a/deep", 0o755))
	must(t, os.Mkdir(outside+"/deep", 0o755))
	must(t, os.WriteFile(w.root+"/a/deep/marker", []byte("inside"), 0o600))
	must(t, os.WriteFile(outside+"/deep/marker", []byte("outside"), 0o600))
	must(t, os.Symlink(outside, w.root+"/b"))
	stop := make(chan struct{})
	var attacker sync.WaitGroup
	attacker.Go(func() {
		runtime.LockOSThread()
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, w.root+"/a", unix.AT_FDCWD, w.root+"/b", unix.RENAME_EXCHANGE)
			}
		}
	})
	placed, turnedDown := 0, 0
	for range 100 {
		run, err := w.try("cat marker", func(c *Command) { c.Dir = "a/deep" })
		if err != nil {
			turnedDown++
			continue
		}
		if run = w.settle(run); run.State == paddock.FailedToStart && run.Outcome.Reason.Step == "working directory" {
			turnedDown++ // exchanged between the judgement and the start
			continue
		}
		placed++
		if got := w.text(run, Stdout); got != "inside" {
			t.Errorf("the program read %q", got)
		}
	}
	close(stop)
	attacker.Wait()
	t.Logf("%d placed, %d refused", placed, turnedDown)
	if placed == 0 {
		t.Error("nothing was placed, so nothing was tried")
	}
}

// What is executed is the file that was judged: an executable that is exchanged
// all the time runs only as the one that is pinned.
func TestPinnedExecutableIsTheOneThatRuns(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	must(t, os.Chmod(bin, 0o755))
	shell, err := os.ReadFile("/bin/sh")
	must(t, err)
	must(t, os.WriteFile(bin+"/tool", shell, 0o755))
	// The other one is a shell, too, with bytes behind it that change its digest.
	must(t, os.WriteFile(bin+"/other", append(append([]byte(nil), shell...), "other"...), 0o755))
	text := strings.Replace(permissive, "executables:", fmt.Sprintf("executables:\n  - {name: tool, path: %s/tool, args: any, sha256: %x}", bin, sha256.Sum256(shell)), 1)
	w := newWorld(t, text)
	size := fmt.Sprint(len(shell))
	ask := func() (Run, error) {
		return w.r.Start(t.Context(), Command{Argv: []string{"tool", "-c", "wc -c < /proc/$$/exe"}})
	}
	run, err := ask()
	must(t, err)
	if got := strings.TrimSpace(w.text(w.settle(run), Stdout)); got != size {
		t.Fatalf("the executable has %s bytes, want %s", got, size)
	}
	stop := make(chan struct{})
	var attacker sync.WaitGroup
	attacker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, bin+"/tool", unix.AT_FDCWD, bin+"/other", unix.RENAME_EXCHANGE)
			}
		}
	})
	ran := 0
	for range 60 {
		run, err := ask()
		if err != nil {
			continue
		}
		ran++
		if got := strings.TrimSpace(w.text(w.settle(run), Stdout)); got != size {
			t.Errorf("another file ran: %s bytes", got)
		}
	}
	close(stop)
	attacker.Wait()
	t.Logf("%d of 60 ran", ran)
	must(t, os.WriteFile(bin+"/tool", []byte("#!/bin/sh\n"), 0o755))
	must(t, os.WriteFile(bin+"/other", []byte("#!/bin/sh\n"), 0o755))
	_, err = ask()
	refused(t, err, paddock.ExecutableChanged)
}

func TestUnsafeExecutables(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	must(t, os.Chmod(bin, 0o755))
	must(t, os.Mkdir(bin+"/open", 0o755))
	must(t, os.Chmod(bin+"/open", 0o777))
	for _, name := range []string{"/open/tool", "/loose", "/plain"} {
		must(t, os.WriteFile(bin+name, []byte("#!/bin/sh\n"), 0o600))
		must(t, os.Chmod(bin+name, 0o755))
	}
	must(t, os.Chmod(bin+"/loose", 0o757))
	must(t, os.Chmod(bin+"/plain", 0o644))
	text := permissive
	for _, name := range []string{"open/tool", "loose", "plain"} {
		text = strings.Replace(text, "executables:", fmt.Sprintf("executables:\n  - {path: %s/%s, args: any}", bin, name), 1)
	}
	w := newWorld(t, text)
	for _, name := range []string{"open/tool", "loose", "plain"} {
		_, err := w.r.Start(t.Context(), Command{Argv: []string{bin + "/" + name}})
		refused(t, err, paddock.ExecutableUnsafe)
	}
}

// Scripts are executed by the binary that reads them, as the kernel would, and
// the record says by which.
func TestScripts(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	must(t, os.Chmod(bin, 0o755))
	must(t, os.WriteFile(bin+"/plain", []byte("#!/bin/sh -e\necho \"$0 $1\"; false; echo not reached\n"), 0o755))
	must(t, os.WriteFile(bin+"/byenv", []byte("#!/usr/bin/env sh\necho \"$0 $1\"\n"), 0o755))
	must(t, os.WriteFile(bin+"/windows", []byte("#!/bin/sh\r\necho no\r\n"), 0o755))
	text := permissive
	for _, name := range []string{"plain", "byenv", "windows"} {
		text = strings.Replace(text, "executables:", fmt.Sprintf("executables:\n  - {name: %s, path: %s/%s, args: any}", name, bin, name), 1)
	}
	w := newWorld(t, text)
	for name, code := range map[string]int{"plain": 1, "byenv": 0} {
		run, err := w.r.Start(t.Context(), Command{Argv: []string{name, "one"}})
		must(t, err)
		run = w.settle(run)
		if got, want := w.text(run, Stdout), bin+"/"+name+" one\n"; got != want || *run.Outcome.Reason.ExitCode != code {
			t.Errorf("%s printed %q, want %q; exit %d, want %d", name, got, want, *run.Outcome.Reason.ExitCode, code)
		}
		d := w.explain(Command{Argv: []string{name, "one"}})
		if d.Grant() == nil || len(d.Grant().Executable.Interpreters) == 0 || !strings.HasSuffix(d.Grant().Executable.Interpreters[0].Path, map[string]string{"plain": "/bin/sh", "byenv": "/usr/bin/env"}[name]) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	_, err := w.r.Start(t.Context(), Command{Argv: []string{"windows"}})
	if r := refused(t, err, paddock.ExecutableUnsafe); !strings.Contains(r.Message, "Windows line end") {
		t.Errorf("message %q", r.Message)
	}
}

func TestRootOfTheFileSystem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(permissive, "path: ROOT}]", "path: /}]", 1))
	for _, dir := range []string{"", "/", w.root, "/usr"} {
		run := w.done("pwd -P", func(c *Command) { c.Dir = dir })
		if want := map[string]string{"": "/"}[dir]; w.text(run, Stdout) != (dir + want + "\n") {
			t.Errorf("in %q: %q", dir, w.text(run, Stdout))
		}
	}
}

func TestRootGivenByALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	must(t, os.Mkdir(w.root+"/sub", 0o755))
	must(t, os.Symlink(w.root, w.root+"-link"))
	w.write(strings.Replace(permissive, "path: ROOT}]", "path: ROOT-link}]", 1))
	for _, dir := range []string{"", "sub", w.root + "/sub", w.root + "-link/sub"} {
		run := w.done("pwd -P", func(c *Command) { c.Dir = dir })
		if got := strings.TrimSpace(w.text(run, Stdout)); !strings.HasPrefix(got, w.root) || strings.HasSuffix(dir, "sub") != strings.HasSuffix(got, "/sub") {
			t.Errorf("in %q: %q", dir, got)
		}
	}
}

func TestPolicyThatOthersCouldChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	w.settle(w.sh("true"))
	must(t, os.Chmod(w.policy, 0o666))
	_, err := w.try("true")
	if r := refused(t, err, paddock.PolicyInvalid); !strings.Contains(r.Message, "policy.yaml can be written to by everyone") {
		t.Errorf("message %q", r.Message)
	}
	if os.Geteuid() == 0 {
		must(t, os.Chmod(w.policy, 0o600))
		must(t, os.Chown(w.policy, testproc.Nobody, -1))
		_, err := w.try("true")
		refused(t, err, paddock.PolicyInvalid)
	}
}

// A policy that is changed counts at once. While a change has errors what was said
// before holds, and decisions and the journal say so.
func TestPolicyIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	w.settle(w.sh("true"))
	w.write(permissive + "unknown: 1\nlimits: {}\n")
	w.settle(w.sh("true"))
	d, err := w.r.Explain(t.Context(), Command{Argv: []string{"sh", "-c", "true"}})
	must(t, err)
	if said, _ := d.Gates.Of(paddock.GatePolicy); d.Effect != paddock.Allow || !strings.Contains(said.Detail, "doesn't count") || !strings.Contains(said.Detail, "unknown") {
		t.Errorf("explained as %+v", said)
	}
	w.settle(w.sh("true")) // that it is broken is told once
	journal, err := os.ReadFile(filepath.Join(w.state, "journal", "000001.jsonl"))
	must(t, err)
	if n := strings.Count(string(journal), `"problem":"`); n != 1 || !strings.Contains(string(journal), `"in_force":"sha256:`) {
		t.Errorf("the journal tells of a broken policy %d times", n)
	}
	w.write(strings.ReplaceAll(permissive, "name: sh", "name: shell"))
	_, err = w.try("true")
	refused(t, err, paddock.ExecutableNotAllowed)
	w.write(permissive)
	w.settle(w.sh("true"))
}

func TestContainmentThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	only := func(levels ...paddock.Level) func(*Options) {
		return func(o *Options) {
			o.levels = func() ([]paddock.Level, map[paddock.Level]string) {
				return levels, map[paddock.Level]string{paddock.Full: "user namespaces: this kernel has none"}
			}
		}
	}
	for text, require := range map[string]string{
		"":                                   "full", // what holds where nothing is said
		"containment: {require: full}\n":     "full",
		"containment: {require: standard}\n": "standard",
	} {
		w := newWorld(t, strings.Replace(permissive, "containment: {require: off}\n", text, 1), only(paddock.Off))
		_, err := w.try("touch ran")
		r := refused(t, err, paddock.ContainmentUnavailable)
		if !strings.Contains(r.Message, "`"+require+"`") || require == "full" != strings.Contains(r.Message, "this kernel has none") {
			t.Errorf("%s: %s", require, r.Message)
		}
		if _, err := os.Stat(w.root + "/ran"); err == nil {
			t.Errorf("%s can't be given, and it ran", require)
		}
	}
	// What can be given isn't refused, and a level is never exchanged for another.
	w := newWorld(t, permissive, only(paddock.Full))
	_, err := w.try("true")
	refused(t, err, paddock.ContainmentUnavailable)
}

func TestStdin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	must(t, os.WriteFile(w.root+"/in", []byte("from a file"), 0o600))
	first := w.done(`printf 'from a run\377'; printf 'its errors' >&2`)
	tests := map[string]struct {
		in   Stdin
		want string
	}{
		"nothing":    {Stdin{}, ""},
		"text":       {Text("from text"), "from text"},
		"empty text": {Text(""), ""},
		"a file":     {Stdin{File: "in"}, "from a file"},
		"a run":      {Stdin{Run: first.ID}, "from a run\xff"},
		"its stderr": {Stdin{Run: first.ID, Stream: Stderr}, "its errors"},
	}
	for name, tt := range tests {
		run := w.done("cat", func(c *Command) { c.Stdin = tt.in })
		if got := w.text(run, Stdout); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	running := w.sh("exec sleep " + unique(t))
	stranger := w.open(func(o *Options) { o.Principal = "somebody else" })
	for name, in := range map[string]Stdin{
		"outside": {File: "/etc/passwd"}, "missing": {File: "none"}, "not over": {Run: running.ID},
		"unknown run": {Run: "r00000000000000000000000000"}, "no text": Text("\xff"),
	} {
		_, err := w.try("cat", func(c *Command) { c.Stdin = in })
		refused(t, err, paddock.StdinNotAllowed)
		_ = name
	}
	_, err := stranger.Start(t.Context(), Command{Argv: []string{"sh", "-c", "cat"}, Stdin: Stdin{Run: first.ID}})
	foreign := refused(t, err, paddock.StdinNotAllowed)
	_, err = stranger.Start(t.Context(), Command{Argv: []string{"sh", "-c", "cat"}, Stdin: Stdin{Run: "r00000000000000000000000000"}})
	if unknown := refused(t, err, paddock.StdinNotAllowed); unknown.Message != foreign.Message {
		t.Errorf("a foreign run looks different: %q, %q", foreign.Message, unknown.Message)
	}
}

func TestOnlyThreeDescriptorsReachTheProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, permissive)
	run := w.done("exec ls /proc/self/fd", func(c *Command) { c.Stdin = Text("x") })
	if got := strings.Fields(w.text(run, Stdout)); len(got) != 4 || got[3] != "3" { // 3 is ls's own, of the directory
		t.Errorf("descriptors %v", got)
	}
}
