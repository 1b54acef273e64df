//go:build linux

package testproc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Main(m, map[string]func() int{
		"words":  words,
		"whoami": func() int { fmt.Println(os.Getuid(), os.Getgid()); return 0 },
		"slack":  slack,
		"patient": func() int {
			fmt.Println("ready")
			_, err := io.Copy(io.Discard, os.Stdin)
			if err != nil {
				return 1
			}
			return 0
		},
	})
}

// words prints its arguments and its environment, one a line, and exits with 7.
func words() int {
	fmt.Println(strings.Join(append(os.Args, os.Environ()...), "\n"))
	return 7
}

// slack prints what the kernel says of this process when it is asked by this goroutine, after
// others have had every occasion to take its thread.
func slack() int {
	for range 1000 {
		done := make(chan struct{})
		go func() { runtime.Gosched(); close(done) }()
		<-done
	}
	_, err := os.ReadFile("/proc/self/timerslack_ns") // who is another thread may not, but for root
	fmt.Println(os.Getpid() == unix.Gettid(), err)
	return 0
}

// A helper asks for itself: what it reads of /proc/self doesn't depend on the thread that
// its goroutine was on at that moment.
func TestHelperIsItsFirstThread(t *testing.T) {
	t.Parallel()
	for range 10 {
		cmd := Command(t, Program(t, "slack"))
		if os.Geteuid() == 0 {
			AsUser(t, cmd, Nobody)
		}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "true <nil>\n" {
			t.Fatalf("%v %s", err, out)
		}
	}
}

func TestSelfPlaysAHelper(t *testing.T) {
	t.Parallel()
	cmd := Self(t, "words", "a b", "")
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Fatalf("exit status: got %d, want 7 (%v)", code, err)
	}
	if got, want := strings.Split(string(out), "\n")[:3], []string{"words", "a b", ""}; !slices.Equal(got, want) {
		t.Errorf("os.Args: got %q, want %q", got, want)
	}
}

func TestHelperNeedsNothingElse(t *testing.T) {
	t.Parallel()
	argv, env := Helper(t, "words", "x")
	cmd := Command(t, argv[0], argv[1:]...)
	cmd.Env = env
	out, _ := cmd.Output() // exits with 7
	if got, want := string(out), "words\nx\nPADDOCK_TESTPROC=words\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgramIsKnownByItsName(t *testing.T) {
	t.Parallel()
	path := Program(t, "words")
	if again := Program(t, "words"); again != path {
		t.Errorf("a second file was made: %s", again)
	}
	cmd := Command(t, path, "x")
	cmd.Env = []string{}
	out, _ := cmd.Output() // exits with 7
	if got, want := string(out), path+"\nx\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("directory: %v %v, want 0755", info.Mode(), err)
	}
}

// No program is being started while a lock is let go of: it would hold that, too.
func TestAlone(t *testing.T) {
	t.Parallel()
	want := errors.New("from do")
	err := Alone(func() error {
		if syscall.ForkLock.TryLock() {
			syscall.ForkLock.Unlock()
			t.Error("a program may be started meanwhile")
		}
		return want
	})
	if !errors.Is(err, want) {
		t.Error(err)
	}
}

func TestAsUser(t *testing.T) {
	t.Parallel()
	cmd := Command(t, Program(t, "whoami"))
	AsUser(t, cmd, Nobody)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(out), "65534 65534\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	src := filepath.Join(t.TempDir(), "tiny.go") // the go command takes a file for a package
	write(t, src, "package main\n\nfunc main() { println(\"built\") }\n")
	path := Build(t, src)
	if again := Build(t, src); again != path {
		t.Errorf("built twice: %s", again)
	}
	if out, err := Command(t, path).CombinedOutput(); err != nil || string(out) != "built\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLeaksSeesChildrenAndDescriptors(t *testing.T) {
	fds, kids := descriptors(), children()
	cmd := Self(t, "patient")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	text := strings.Join(leaks(fds, kids), "\n")
	if !strings.Contains(text, "child process left") || !strings.Contains(text, "descriptor left open") {
		t.Errorf("a running child and its pipes were not seen:\n%s", text)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if left := settle(func() []string { return leaks(fds, kids) }); left != nil {
		t.Errorf("seen although they are gone: %q", left)
	}
}

// A recorder stands for a test and keeps what it reports.
type recorder struct {
	testing.TB
	errors   []string
	cleanups []func()

	skipped, failed string
}

func (r *recorder) Skip(args ...any)             { r.skipped = fmt.Sprint(args...) }
func (r *recorder) Fatalf(f string, args ...any) { r.failed = fmt.Sprintf(f, args...) }
func (r *recorder) Helper()                      {}
func (r *recorder) Setenv(_, _ string)           {}
func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any)            { r.errors = append(r.errors, fmt.Sprint(args...)) }

func TestLeaksReports(t *testing.T) {
	defer func(before time.Duration) { patience = before }(patience)
	patience = 0
	r := &recorder{TB: t}
	Leaks(r)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	r.cleanups[0]()
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "/dev/null") {
		t.Errorf("got %q, want the open descriptor", r.errors)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLeaksRefusesParallel(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("Leaks was accepted in a parallel test")
		}
	}()
	Leaks(t)
}

// leaked keeps a file reachable: one that isn't is closed by the collector.
var leaked *os.File

// TestOffender leaves something behind when TestMainComplains asks for it.
func TestOffender(t *testing.T) {
	offence := os.Getenv("OFFENCE")
	if offence != "" && offence != "late" {
		patience = 0
	}
	switch offence {
	case "descriptor":
		var err error
		if leaked, err = os.Open(os.DevNull); err != nil {
			t.Fatal(err)
		}
	case "goroutine":
		go func() { select {} }()
	case "late":
		go func() { <-time.After(time.Second) }() // the library that looks for goroutines waits for half of that
	case "child":
		cmd := Self(t, "patient")
		// Without WaitDelay and context nobody reaps it.
		if err := (&Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env}).Start(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMainComplains(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ offence, want string }{
		{"none", ""},
		{"late", ""},
		{"descriptor", "descriptor left open"},
		{"goroutine", "found unexpected goroutines"},
		{"child", "child process left"},
	} {
		t.Run(tc.offence, func(t *testing.T) {
			t.Parallel()
			cmd := Self(t, "-test.run=^TestOffender$")
			cmd.Env = append(cmd.Env, "OFFENCE="+tc.offence)
			out, err := cmd.CombinedOutput()
			if (err == nil) != (tc.want == "") || !strings.Contains(string(out), tc.want) {
				t.Errorf("got %v and %q, want a complaint with %q", err, out, tc.want)
			}
		})
	}
}

func TestUnusedHelpersAreNamed(t *testing.T) {
	t.Parallel()
	tr := &troupe{used: map[string]bool{}, helpers: map[string]func() int{"b": words, "a": words, "c": words}}
	if !tr.use("c") || tr.use("unknown") {
		t.Error("use: want true for a helper and false for another name")
	}
	got := tr.unused()
	if len(got) != 1 || !strings.Contains(got[0], "helper a, b;") {
		t.Errorf("got %q, want a and b named", got)
	}
	tr.use("a")
	tr.use("b")
	if got := tr.unused(); got != nil {
		t.Errorf("got %q although all are used", got)
	}
}

func TestUnknownHelperFails(t *testing.T) {
	t.Parallel()
	cmd := Self(t)
	cmd.Env = append(cmd.Env, marker+"=nobody")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), `no helper is called "nobody"`) {
		t.Errorf("got status %d and %q", cmd.ProcessState.ExitCode(), out)
	}
}

func TestSkipFailsWhereEverythingMustBeTried(t *testing.T) {
	t.Setenv("PADDOCK_MUST_CONTAIN", "")
	r := &recorder{TB: t}
	Skip(r, "no cgroup here")
	if r.skipped != "no cgroup here" || r.failed != "" {
		t.Errorf("got skipped %q, failed %q; want only the first", r.skipped, r.failed)
	}
	t.Setenv("PADDOCK_MUST_CONTAIN", "1")
	r = &recorder{TB: t}
	Skip(r, "no cgroup here")
	if r.skipped != "" || r.failed != "PADDOCK_MUST_CONTAIN=1 and no cgroup here" {
		t.Errorf("got skipped %q, failed %q; want only the second", r.skipped, r.failed)
	}
}

func TestCopyExecutable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	to := filepath.Join(dir, "whoami")
	if err := copyExecutable(self(t), to); err != nil {
		t.Fatal(err)
	}
	if err := Command(t, to).Run(); err != nil {
		t.Errorf("the copy doesn't run: %v", err)
	}
	if err := copyExecutable(self(t), to); !os.IsExist(err) {
		t.Errorf("over an existing file: got %v, want that it exists", err)
	}
	if err := copyExecutable(filepath.Join(dir, "missing"), filepath.Join(dir, "x")); !os.IsNotExist(err) {
		t.Errorf("from nothing: got %v, want that it doesn't exist", err)
	}
}
