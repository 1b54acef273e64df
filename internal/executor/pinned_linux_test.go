package executor

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
)

// tryPins is what is attempted against the promise that the bytes executed are
// those that the policy pins.
func tryPins(t *testing.T, th *theater, level paddock.Level) {
	t.Run("the pinned executable is rewritten in place", func(t *testing.T) { rewriteProgram(t, th, level) })
	t.Run("the pinned script is rewritten in place", func(t *testing.T) { rewriteScript(t, th, level) })
	t.Run("the pinned executable is open for writing", func(t *testing.T) { openProgram(t, th, level) })
	t.Run("a hard link of the pinned executable is rewritten", func(t *testing.T) { linkProgram(t, th, level) })
	t.Run("a pinned script lies where runs write", func(t *testing.T) { scriptInRoot(t, th, level) })
	t.Run("a pinned script's interpreter isn't pinned", func(t *testing.T) { looseInterpreter(t, th, level) })
	t.Run("a pinned tool finds itself", func(t *testing.T) { findsItself(t, th, level) })
}

// pin adds a pinned executable to the policy of an act.
func (a *act) pin(t *testing.T, name, path string, content []byte, more string) {
	t.Helper()
	entry := fmt.Sprintf("executables:\n  - {name: %s, path: '%s', args: any, sha256: %x}", name, path, sha256.Sum256(content))
	a.policy = strings.Replace(a.policy, "executables:", entry+more, 1)
	a.reopen(t, a.policy)
}

// bin is a directory of the account that runs Paddock.
func bin(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

// program is a shell that is told apart by its last bytes.
func program(t *testing.T, path, mark string) []byte {
	t.Helper()
	shell, err := os.ReadFile("/bin/sh")
	must(t, err)
	content := append(shell, mark...)
	must(t, os.WriteFile(path, content, 0o755))
	return content
}

// rewriting writes one text and then the other over the end of a file, as often
// as it is let, until stop is called. It counts how often it was.
func rewriting(path, one, other string) (stop func() int) {
	quit, ended, wrote := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		texts := []string{other, one}
		for {
			select {
			case <-quit:
				return
			default:
			}
			// What waits for a lease can't be stopped.
			f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				runtime.Gosched()
				continue
			}
			if end, err := f.Seek(-int64(len(one)), 2); err == nil {
				_, _ = f.WriteAt([]byte(texts[wrote%2]), end)
				wrote++
			}
			_ = f.Close()
			runtime.Gosched()
		}
	}()
	once := sync.OnceFunc(func() { close(quit); <-ended })
	return func() int { once(); return wrote }
}

// outcome runs argv and says what it printed, or "" if it was refused or failed
// to start. What else happens is an error.
func (a *act) outcome(t *testing.T, argv ...string) string {
	t.Helper()
	run, err := a.e.Start(t.Context(), a.request("root", argv...))
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) && (refusal.Code == paddock.ExecutableChanged || refusal.Code == paddock.ExecutableUnsafe) {
		return ""
	}
	must(t, err)
	run, out := a.ended(t, run)
	switch run.State {
	case paddock.Exited:
		return strings.TrimSpace(out)
	case paddock.FailedToStart:
		t.Log("it failed to start:", run.Outcome.Reason.Step, run.Outcome.Reason.Detail)
		return ""
	}
	t.Errorf("%s %+v: %s", run.State, run.Outcome, out)
	return ""
}

func rewriteProgram(t *testing.T, th *theater, level paddock.Level) {
	a, path := th.act(t, level, "", "root"), bin(t)+"/tool"
	a.pin(t, "tool", path, program(t, path, "good"), "")
	argv := []string{"tool", "-c", "tail -c 4 /proc/$$/exe"}
	if out := a.outcome(t, argv...); out != "good" {
		t.Fatalf("undisturbed it says %q", out)
	}
	stop := rewriting(path, "good", "evil")
	defer stop()
	for range 40 {
		if out := a.outcome(t, argv...); out != "good" && out != "" {
			t.Errorf("other bytes ran: %q", out)
		}
	}
	t.Logf("it was rewritten %d times", stop())
}

// rewriteScript: root can change root's scripts, so this is for other accounts.
func rewriteScript(t *testing.T, th *theater, level paddock.Level) {
	if os.Geteuid() == 0 {
		t.Skip("only root can write to root's scripts")
	}
	a, path := th.act(t, level, "", "root"), bin(t)+"/script"
	text := []byte("#!/bin/sh\necho \"$0\"\necho good")
	must(t, os.WriteFile(path, text, 0o755))
	a.pin(t, "script", path, text, "")
	if level != paddock.Full {
		_, err := a.e.Start(t.Context(), a.request("root", "script"))
		var refusal *paddock.Refusal
		if !errors.As(err, &refusal) || refusal.Code != paddock.ExecutableUnsafe || !strings.Contains(refusal.Message, "require containment `full`") {
			t.Errorf("a script that its owner can rewrite: %v", err)
		}
		return
	}
	if out := a.outcome(t, "script"); out != path+"\ngood" {
		t.Fatalf("undisturbed it says %q", out)
	}
	stop := rewriting(path, "good", "evil")
	defer stop()
	for range 40 {
		if out := a.outcome(t, "script"); out != "" && !strings.HasSuffix(out, "good") {
			t.Errorf("other bytes ran: %q", out)
		}
	}
	if stop() == 0 {
		t.Error("it was never rewritten, so nothing was tested")
	}
	// Nor can the run change what others see, or its own copy.
	must(t, os.WriteFile(path, text, 0o755))
	writes := []byte("#!/bin/sh\n{ echo x >> \"$0\"; rm -f \"$0\"; } 2> /dev/null\ntail -n 1 \"$0\"; : good")
	must(t, os.WriteFile(path, writes, 0o755))
	a.pin(t, "writes", path, writes, "")
	if out := a.outcome(t, "writes"); !strings.HasSuffix(out, "good") {
		t.Errorf("the run's copy was changed: %q", out)
	}
}

func openProgram(t *testing.T, th *theater, level paddock.Level) {
	a, path := th.act(t, level, "", "root"), bin(t)+"/tool"
	a.pin(t, "tool", path, program(t, path, "good"), "")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = a.e.Start(t.Context(), a.request("root", "tool", "-c", "true"))
	var refusal *paddock.Refusal
	if !errors.As(err, &refusal) || refusal.Code != paddock.ExecutableUnsafe || !strings.Contains(refusal.Message, "open for writing") {
		t.Errorf("%v", err)
	}
}

func linkProgram(t *testing.T, th *theater, level paddock.Level) {
	a, dir := th.act(t, level, "", "root"), bin(t)
	path, link := dir+"/tool", dir+"/link"
	a.pin(t, "tool", path, program(t, path, "good"), "")
	must(t, os.Link(path, link))
	if out := a.outcome(t, "tool", "-c", "tail -c 4 /proc/$$/exe"); out != "good" {
		t.Errorf("with a link it says %q", out)
	}
	stop := rewriting(link, "good", "evil")
	for range 10 {
		if out := a.outcome(t, "tool", "-c", "tail -c 4 /proc/$$/exe"); out != "good" && out != "" {
			t.Errorf("other bytes ran: %q", out)
		}
	}
	stop()
}

func scriptInRoot(t *testing.T, th *theater, level paddock.Level) {
	a, text := th.act(t, level, "", "root"), []byte("#!/bin/sh\necho good\n")
	path := filepath.Join(a.dir, "root", "script")
	must(t, os.WriteFile(path, text, 0o755))
	a.pin(t, "script", path, text, "")
	_, err := a.e.Start(t.Context(), a.request("root", "script"))
	var refusal *paddock.Refusal
	if !errors.As(err, &refusal) || refusal.Code != paddock.ExecutableUnsafe {
		t.Errorf("%v", err)
	}
}

// looseInterpreter: a pin holds with everything that reads what is pinned.
func looseInterpreter(t *testing.T, th *theater, level paddock.Level) {
	if os.Geteuid() == 0 {
		t.Skip("what root owns is as good as pinned")
	}
	if level != paddock.Full {
		return // such a script is refused for itself
	}
	a, dir := th.act(t, level, "", "root"), bin(t)
	shell := program(t, dir+"/shell", "good")
	text := []byte("#!" + dir + "/shell\ntail -c 4 /proc/$$/exe\n")
	must(t, os.WriteFile(dir+"/script", text, 0o755))
	a.pin(t, "script", dir+"/script", text, "")
	_, err := a.e.Start(t.Context(), a.request("root", "script"))
	var refusal *paddock.Refusal
	if !errors.As(err, &refusal) || refusal.Code != paddock.ExecutableUnsafe || !strings.Contains(refusal.Message, "pin it as an executable of its own") {
		t.Errorf("%v", err)
	}
	a.pin(t, "shell", dir+"/shell", shell, "")
	if out := a.outcome(t, "script"); out != "good" {
		t.Errorf("with both pinned it says %q", out)
	}
	program(t, dir+"/shell", "evil")
	_, err = a.e.Start(t.Context(), a.request("root", "script"))
	if !errors.As(err, &refusal) || refusal.Code != paddock.ExecutableChanged || !strings.Contains(refusal.Hint, "paddock policy pin") {
		t.Errorf("another interpreter: %v", err)
	}
}

// findsItself: go looks for its GOROOT around the file that it runs from.
func findsItself(t *testing.T, th *theater, level paddock.Level) {
	root, err := os.ReadFile(filepath.Join(os.Getenv("HOME"), "goroot"))
	must(t, err)
	own := bin(t)
	must(t, os.Mkdir(own+"/bin", 0o755))
	content, err := os.ReadFile(string(root) + "/bin/go")
	must(t, err)
	must(t, os.WriteFile(own+"/bin/go", content, 0o755))
	for _, part := range []string{"pkg", "src", "lib", "VERSION", "go.env"} {
		if _, err := os.Stat(string(root) + "/" + part); err == nil {
			must(t, os.Symlink(string(root)+"/"+part, own+"/"+part))
		}
	}
	more := ""
	if level != paddock.Off {
		more = ", read: ['" + own + "', '" + string(root) + "']"
	}
	a := th.act(t, level, more, "root")
	a.policy += "environment: {set: {GOTOOLCHAIN: local}}\n"
	a.pin(t, "go", own+"/bin/go", content, "")
	must(t, os.WriteFile(filepath.Join(a.dir, "root/go.mod"), []byte("module example.org/x\n"), 0o644))
	// A package without imports is compiled in a moment: nothing of Go's own is.
	must(t, os.WriteFile(filepath.Join(a.dir, "root/x.go"), []byte("package x\n\nfunc X() int { return 42 }\n"), 0o644))
	if out := a.outcome(t, "go", "env", "GOROOT"); out != own {
		t.Errorf("GOROOT is %q, want %q", out, own)
	}
	if run, out := a.run(t, "root", "go", "build", "."); run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 0 {
		t.Errorf("%s %+v: %s", run.State, run.Outcome, out)
	}
}
