package testproc

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Cmd is exec.Cmd, for signatures in packages that may not import os/exec.
type Cmd = exec.Cmd

// ExitError is exec.ExitError, likewise.
type ExitError = exec.ExitError

// Command returns a command that is killed when the test ends. It inherits the
// test's environment. The caller starts it and must wait for it.
func Command(t testing.TB, name string, args ...string) *Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	// A grandchild may hold the pipe; a test must end all the same.
	cmd.WaitDelay = time.Minute
	return cmd
}

// Self returns a command that runs the test binary again. When args[0] names a
// helper given to [Main], that helper runs with os.Args holding args; else the
// tests run, with args as their flags.
func Self(t testing.TB, args ...string) *Cmd {
	t.Helper()
	cmd := Command(t, self(t), args...)
	cmd.Env = os.Environ()
	if len(args) > 0 && ours.use(args[0]) {
		cmd.Env = append(cmd.Env, marker+"="+args[0])
	}
	return cmd
}

// Helper returns the argv and the environment with which anybody can start the
// test binary as the helper called name. The environment is complete: it holds
// what the helper needs to know itself and nothing else.
func Helper(t testing.TB, name string, args ...string) (argv, env []string) {
	t.Helper()
	mustUse(t, name)
	return append([]string{self(t), name}, args...), []string{marker + "=" + name}
}

// Program returns the absolute path of an executable file that is the helper
// called name, known by its file name alone: it needs no argument and no
// environment. Its directories are writable by their owner only, below the
// system's directory for temporary files.
func Program(t testing.TB, name string) string {
	t.Helper()
	mustUse(t, name)
	programs.Lock()
	defer programs.Unlock()
	if path, ok := programs.made[name]; ok {
		return path
	}
	path := filepath.Join(scratch(t), name)
	if _, err := os.Lstat(path); err == nil {
		t.Fatalf("testproc: %s has been built by Build; use BuildTo there", name)
	}
	if err := clone(self(t), path); err != nil {
		t.Fatalf("testproc: making %s: %v", name, err)
	}
	programs.made[name] = path
	return path
}

var programs = struct {
	sync.Mutex
	made map[string]string
}{made: map[string]string{}}

// Build compiles the command pkg, an import path or a directory relative to the
// test, and returns the path of the static binary. Each command is built once
// per run of [Main]; the go command's cache makes later runs cheap.
func Build(t testing.TB, pkg string) string {
	t.Helper()
	return build(t, pkg, "")
}

// BuildTo is Build with a build tag, in the directory sub of its own, so that
// it isn't taken for what is released.
func BuildTo(t testing.TB, sub, pkg, tag string) string {
	t.Helper()
	return build(t, pkg, sub, "-tags", tag)
}

func build(t testing.TB, pkg, sub string, flags ...string) string {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	path := filepath.Join(scratch(t), sub, filepath.Base(pkg))
	if builds.made[path] != "" {
		return path
	}
	if _, err := os.Lstat(path); err == nil { // others start it, and would get what is built
		t.Fatalf("testproc: %s is a helper of these tests already; use BuildTo", filepath.Base(pkg))
	}
	// Without what debuggers read, as what is released: a third of the linker's time, and
	// twenty packages' tests build the same.
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path}, flags...)
	cmd := Command(t, "go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("testproc: go build %s: %v\n%s", pkg, err, out)
	}
	builds.made[path] = pkg
	return path
}

var builds = struct {
	sync.Mutex
	made map[string]string
}{made: map[string]string{}}

// Alone has do let go of locks while this process starts no program for a test. One that is
// being started has a copy of every descriptor until it has become its program, and by that
// holds what was locked by them a moment longer.
func Alone(do func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return do()
}

// MustContain reports whether this is a run in which every guarantee has to be
// tried: CI sets PADDOCK_MUST_CONTAIN=1.
func MustContain() bool { return os.Getenv("PADDOCK_MUST_CONTAIN") == "1" }

// Skip skips the test for a reason that lies in this machine. Where every
// guarantee has to be tried it fails instead: a skipped test proves nothing.
func Skip(t testing.TB, reason string) {
	t.Helper()
	switch {
	case MustContain():
		t.Fatalf("PADDOCK_MUST_CONTAIN=1 and %s", reason)
	default:
		t.Skip(reason)
	}
}

// copyOfSelf returns the path of a copy of the test binary that everybody can
// execute.
func copyOfSelf(t testing.TB) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	const name = "the test binary" // no helper has such a name
	if path, ok := programs.made[name]; ok {
		return path
	}
	path := filepath.Join(scratch(t), "tests")
	if err := clone(self(t), path); err != nil {
		t.Fatalf("testproc: copying the test binary: %v", err)
	}
	programs.made[name] = path
	return path
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatalf("testproc: where is the test binary? %v", err)
	}
	return path
}
