package executor

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// tryStarts is what is attempted from outside while runs start, and between runs.
func tryStarts(t *testing.T) {
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			th := newTheater(t)
			t.Run("the workspace is exchanged for a link", func(t *testing.T) { exchangeRoot(t, th, level) })
			t.Run("the executable is exchanged", func(t *testing.T) { exchangeProgram(t, th, level) })
			t.Run("pins", func(t *testing.T) { tryPins(t, th, level) })
			t.Run("everything of the run is killed by itself", func(t *testing.T) { killAll(t, th, level) })
			t.Run("what hides from its end is gone", func(t *testing.T) { gone(t, th, level) })
			t.Run("the directory is a descriptor of ours", func(t *testing.T) { descriptorDir(t, th, level) })
			t.Run("homes are one per workspace", func(t *testing.T) { homes(t, th, level) })
			t.Run("our own things lie in the workspace", func(t *testing.T) { exposed(t, level) })
			if level == paddock.Full {
				t.Run("two runs at once don't see each other", func(t *testing.T) { strangers(t, th) })
				t.Run("an earlier run planted a link", func(t *testing.T) { planted(t, th) })
				t.Run("there was no repository", func(t *testing.T) { fresh(t, th) })
				t.Run("the supervisor was killed", func(t *testing.T) { crash(t, th) })
			}
		})
	}
}

// exchanging swaps two names until stop is called.
func exchanging(one, two string) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		for {
			select {
			case <-quit:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, two, unix.RENAME_EXCHANGE)
			}
		}
	}()
	return sync.OnceFunc(func() { close(quit); <-ended })
}

// exchangeRoot: what runs in a root exchanges another one inside it for a link
// to what was never granted. A run sees what was judged, or doesn't start.
func exchangeRoot(t *testing.T, th *theater, level paddock.Level) {
	a := th.act(t, level, "", "above", "above/root")
	root, link := filepath.Join(a.dir, "above/root"), filepath.Join(a.dir, "above/link")
	must(t, os.WriteFile(root+"/secret", []byte("inside"), 0o600))
	must(t, os.Symlink(th.aim.Outside, link))
	stop := exchanging(root, link)
	defer stop()
	// By a name that leads in and, below off, by the outside's own.
	line := `echo "<$(cat secret)>"`
	if level != paddock.Off {
		line += `; echo "<$(cat '` + th.aim.Outside + `/secret')>"`
	}
	seen, not := 0, 0
	for range 60 {
		run, err := a.e.Start(t.Context(), a.request("above/root", "sh", "-c", line))
		if err != nil {
			not++
			continue
		}
		run, out := a.ended(t, run)
		switch {
		case run.State == paddock.FailedToStart:
			not++
		case strings.Contains(out, "inside"):
			seen++
		}
		if strings.Contains(out, "<secret>") {
			t.Fatalf("it read the outside: %q", out)
		}
	}
	t.Logf("%d started inside, %d not", seen, not)
}

// exchangeProgram: what runs is the file that was judged, or nothing.
func exchangeProgram(t *testing.T, th *theater, level paddock.Level) {
	bin := filepath.Join(t.TempDir(), "bin")
	must(t, os.Mkdir(bin, 0o755))
	shell, err := os.ReadFile("/bin/sh")
	must(t, err)
	must(t, os.WriteFile(bin+"/tool", shell, 0o755))
	must(t, os.WriteFile(bin+"/other", append(shell[:len(shell):len(shell)], "other"...), 0o755))
	digest := fmt.Sprintf("%x", sha256.Sum256(shell))
	a := th.act(t, level, "", "root")
	text := strings.Replace(a.policy, "executables:", "executables:\n  - {name: tool, path: '"+bin+"/tool', args: any, sha256: "+digest+"}", 1)
	a.reopen(t, text)
	stop := exchanging(bin+"/tool", bin+"/other")
	defer stop()
	ran := 0
	for range 40 {
		run, err := a.e.Start(t.Context(), a.request("root", "tool", "-c", "wc -c < /proc/$$/exe"))
		if err != nil {
			continue
		}
		if run, out := a.ended(t, run); run.State == paddock.Exited {
			ran++
			if strings.TrimSpace(out) != fmt.Sprint(len(shell)) {
				t.Errorf("another file ran: %q", out)
			}
		}
	}
	stop()
	t.Logf("%d of 40 ran", ran)
}

// killAll: a signal to everybody reaches the run and nobody else. Below full
// that is for the namespace to say, where there is one.
func killAll(t *testing.T, th *theater, level paddock.Level) {
	a := th.act(t, level, "", "root")
	outside := testproc.Self(t, "waits")
	in, err := outside.StdinPipe()
	must(t, err)
	must(t, outside.Start())
	line := `[ "$(readlink /proc/self/ns/pid)" = "` + th.aim.PIDNamespace + `" ] && exit 9
		sleep 100 & kill -STOP $!; (setsid sleep 100 &) ; kill -9 -1; echo here`
	run, out := a.run(t, "root", "sh", "-c", line)
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode == 9 && level == paddock.Full || run.Outcome.Survivors != 0 {
		t.Errorf("%s %+v: %s", run.State, run.Outcome, out)
	}
	must(t, in.Close())
	if err := outside.Wait(); err != nil {
		t.Errorf("a process outside: %v", err)
	}
}

// gone: nothing of a run is there after its end, however it was started: by another
// parent, in a session of its own, without a parent, stopped.
func gone(t *testing.T, th *theater, level paddock.Level) {
	a := th.act(t, level, "", "root")
	mark := fmt.Sprint(100_000_000 + os.Getpid()*100 + int(theaters.Add(1)))
	hidden := strings.ReplaceAll(`sleep MARK & kill -STOP $!
		(setsid sleep MARK &)
		setsid sh -c 'trap "" TERM HUP INT; sleep MARK & sleep MARK' &
		(setsid sh -c 'sleep MARK & kill -STOP $!; kill -STOP $$' &)
		exit 3`, "MARK", mark)
	run, out := a.run(t, "root", "sh", "-c", hidden)
	if run.State != paddock.Exited || *run.Outcome.Reason.ExitCode != 3 || run.Outcome.Survivors != 0 {
		t.Errorf("%s %+v: %s", run.State, run.Outcome, out)
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), mark) {
			t.Errorf("%s of tree %s is still there: %q", file, run.Tree, line)
		}
	}
}

// descriptorDir: a working directory that is named by one of our own descriptors, or
// by our own view of the machine, is no directory of the policy's.
func descriptorDir(t *testing.T, th *theater, level paddock.Level) {
	a := th.act(t, level, "", "root")
	outside, err := os.Open(th.aim.Outside)
	must(t, err)
	defer outside.Close()
	inside, err := os.Open(filepath.Join(a.dir, "root"))
	must(t, err)
	defer inside.Close()
	for _, dir := range []string{
		fmt.Sprintf("/proc/self/fd/%d", outside.Fd()), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), outside.Fd()), fmt.Sprintf("/dev/fd/%d", inside.Fd()),
		"/proc/self/cwd", "/proc/self/root", "/proc/self/root" + th.aim.Outside, fmt.Sprintf("/proc/self/fd/%d/../outside", inside.Fd()),
	} {
		req := a.request("root", "sh", "-c", "pwd -P; cat secret")
		req.Command.Dir = dir
		run, err := a.e.Start(t.Context(), req)
		var refusal *paddock.Refusal
		if !errors.As(err, &refusal) {
			_, out := a.ended(t, run)
			t.Errorf("%s: %v, %s", dir, err, out)
		}
	}
}

func homes(t *testing.T, th *theater, level paddock.Level) {
	a := th.act(t, level, "", "one", "two")
	if status, out := a.sh(t, "one", `echo secret > "$HOME/mine" && cat "$HOME/mine"`); status != 0 {
		t.Fatal(out)
	}
	if status, out := a.sh(t, "two", `cat "$HOME/mine"`); status == 0 {
		t.Errorf("the home of another workspace: %s", out)
	}
	_, one := a.sh(t, "one", `printf %s "$HOME"`)
	status, out := a.sh(t, "two", `cat '`+one+`/mine'`)
	if (status == 0) != (level == paddock.Off) {
		t.Errorf("the home of another workspace by its name: status %d, %s", status, out)
	}
}

// strangers: what one run has in memory, /tmp and its environment the other
// doesn't find.
func strangers(t *testing.T, th *theater) {
	a := th.act(t, paddock.Full, "", "one", "two")
	gate := filepath.Join(a.dir, "one", "gate")
	ready := filepath.Join(a.dir, "one", "ready")
	must(t, unix.Mkfifo(gate, 0o600))
	must(t, unix.Mkfifo(ready, 0o600))
	first, err := a.e.Start(t.Context(), a.request("one", "sh", "-c", "echo mine > /tmp/mine; echo mine > /dev/shm/mine; export MARKED=canary; sh -c 'echo > ready; read x < gate'"))
	must(t, err)
	_, err = os.ReadFile(ready)
	must(t, err)
	status, out := a.sh(t, "two", "cat /tmp/mine /dev/shm/mine '"+gate+"' 2> /dev/null; cat /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n' | grep canary; ls -d /proc/[0-9]* | wc -l")
	if n, err := strconv.Atoi(strings.TrimSpace(out)); err != nil || n > 4 { // the holder, sh, ls, and wc when it is quick
		t.Errorf("status %d, it saw: %q", status, out)
	}
	f, err := os.OpenFile(gate, os.O_WRONLY, 0)
	must(t, err)
	must(t, f.Close())
	a.ended(t, first)
}

// planted: a link in the place of what is protected can't be kept, so no run
// starts, and the refusal says what to do.
func planted(t *testing.T, th *theater) {
	for _, name := range []string{".mcp.json", ".claude", ".git", ".git/hooks", ".envrc"} {
		a := th.act(t, paddock.Full, "", "root")
		path := filepath.Join(a.dir, "root", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.Symlink(th.aim.Outside, path))
		run, out := a.run(t, "root", "sh", "-c", "echo x > "+name+"/secret")
		if run.State != paddock.FailedToStart || run.Outcome.Reason.Step != "containment" || !strings.Contains(run.Outcome.Reason.Detail, "remove it") {
			t.Errorf("%s: %s %+v %s", name, run.State, run.Outcome.Reason, out)
		}
		if b, err := os.ReadFile(th.aim.Outside + "/secret"); err != nil || string(b) != "secret" {
			t.Errorf("%s: the outside was written: %q %v", name, b, err)
		}
	}
}

// fresh: where there is no repository a run can make one, and what it puts there
// is its own: nothing is made up that programs would take for a repository.
func fresh(t *testing.T, th *theater) {
	a := th.act(t, paddock.Full, "", "root")
	if status, out := a.sh(t, "root", "[ ! -e .git ] && git init -q && git status"); status != 0 {
		t.Error(out)
	}
	if status, out := a.sh(t, "root", "echo x > .git/hooks/pre-commit || echo x >> .git/config"); status == 0 {
		t.Errorf("a later run changed it: %s", out)
	}
}

// crash: placeholders of a run whose supervisor was killed protect the next run,
// too, and go with it.
func crash(t *testing.T, th *theater) {
	a := th.act(t, paddock.Full, "", "root")
	run, err := a.e.Start(t.Context(), a.request("root", "sh", "-c", "exec sleep 1000"))
	must(t, err)
	must(t, unix.Kill(run.Supervisor.PID, unix.SIGKILL))
	run, _ = a.ended(t, run)
	if run.State != paddock.Lost {
		t.Errorf("%s", run.State)
	}
	if status, out := a.sh(t, "root", "echo x > .mcp.json"); status == 0 {
		t.Errorf("what a crash left can be written: %s", out)
	}
	left, err := os.ReadDir(filepath.Join(a.dir, "root"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// exposed: a grant that would hand out the state directory or the policy is no
// grant, except at off, where nothing is held anyway.
func exposed(t *testing.T, level paddock.Level) {
	for name, tc := range map[string]struct{ root, policy, more string }{
		"the state directory in the root":    {"", "elsewhere/policy.yaml", ""},
		"the state directory can be read":    {"root", "elsewhere/policy.yaml", ", read: ['DIR']"},
		"the state directory can be written": {"root", "elsewhere/policy.yaml", ", write: ['DIR/state']"},
		"the policy in the root":             {"root", "root/policy.yaml", ""},
		"a project's own policy":             {"root", "root/.paddock/policy.yaml", ""},
	} {
		if level == paddock.Off && tc.more != "" {
			continue // it would promise what isn't kept
		}
		t.Run(name, func(t *testing.T) {
			var dir string
			f := open(t, func(c *Config) {
				dir = filepath.Dir(c.State)
				policy := filepath.Join(dir, tc.policy)
				must(t, os.MkdirAll(filepath.Dir(policy), 0o700))
				must(t, os.MkdirAll(filepath.Join(dir, "root"), 0o755))
				text := strings.NewReplacer("ROOTS", "{path: '"+filepath.Join(dir, tc.root)+"'}", "PROGRAM", "/bin/true",
					"LEVEL", string(level), "MORE", strings.ReplaceAll(tc.more, "DIR", dir)).Replace(policyForm)
				must(t, os.WriteFile(policy, []byte(text), 0o600))
				c.Policy, c.Stage = PolicyFile(policy), os.Getenv(stageVariable)
			})
			a := &act{e: f.e, level: level, dir: dir}
			d, err := f.e.Explain(t.Context(), a.request("root", "sh", "-c", "true"))
			must(t, err)
			refusal := d.Refusal()
			if level == paddock.Off || name == "a project's own policy" {
				if refusal != nil {
					t.Errorf("refused: %v", refusal)
				}
				return
			}
			if refusal == nil || refusal.Code != paddock.ContainmentUnavailable {
				t.Errorf("got %v, want a refusal", refusal)
			}
		})
	}
}
