//go:build linux

package spawn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"ahead": aheadMain, "ground": groundMain, "namespace": namespaceMain, "between": betweenMain})
}

// What holds for root must hold for an ordinary user, whose means are others.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 || forkedFirst {
		return // this is that user's run, which tries that, too
	}
	cmd := testproc.Self(t, "-test.short")
	testproc.AsUser(t, cmd, testproc.Nobody)
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "TMPDIR="+dir, "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What holds for one road must hold for the other.
func TestByThePlainRoad(t *testing.T) {
	if plainRoad || forkedFirst {
		return // this is that run, or another
	}
	cmd := testproc.Self(t, "-test.short")
	cmd.Env = append(cmd.Env, "PADDOCK_TEST_PLAIN=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var plainRoad = os.Getenv("PADDOCK_TEST_PLAIN") != ""

// What holds for a run holds as well when its process in between was there before it.
func TestForkedAhead(t *testing.T) {
	if plainRoad || forkedFirst || !ownStacks {
		return // this is that run, or none is forked ahead
	}
	cmd := testproc.Self(t, "-test.short")
	cmd.Env = append(cmd.Env, "PADDOCK_TEST_AHEAD=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var forkedFirst = os.Getenv("PADDOCK_TEST_AHEAD") != ""

// Every test runs once for each means of holding a tree that can work here.
func isolations(t *testing.T) []paddock.Isolation {
	t.Helper()
	all := []paddock.Isolation{paddock.UserPIDNamespace, paddock.Guardian}
	if os.Geteuid() == 0 {
		all = append(all, paddock.PIDNamespace, paddock.CgroupKill)
	}
	return all
}

func forEach(t *testing.T, test func(t *testing.T, isolation paddock.Isolation)) {
	for _, isolation := range isolations(t) {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			test(t, isolation)
		})
	}
}

type running struct {
	*Program
	stdout *os.File
	stdin  *os.File
}

// sh starts the shell as an example of a program that starts others.
func sh(t *testing.T, isolation paddock.Isolation, script string) *running {
	t.Helper()
	r, err := tryStart(t, isolation, "/bin/sh", []string{"sh", "-c", script}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryStart(t *testing.T, isolation paddock.Isolation, path string, argv, env []string) (*running, error) {
	t.Helper()
	open := func(f *os.File, err error) *os.File {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	ours, theirs, err := OutputPipe()
	open(ours, err)
	inOurs, inTheirs, err := InputPipe()
	open(inOurs, err)
	dir := open(os.Open(t.TempDir()))
	var ahead *Ahead
	if forkedFirst {
		if ahead, err = ForkBetween([]paddock.Isolation{isolation}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Start(Spec{
		Argv: argv, Env: append([]string{"PATH=/usr/bin:/bin"}, env...), Exec: open(os.Open(path)), Ahead: ahead,
		Stdin: inTheirs, Stdout: theirs, Stderr: theirs, Plan: off(t, dir), Plain: plainRoad,
		Isolation: []paddock.Isolation{isolation}, Name: fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-")),
	})
	theirs.Close()
	inTheirs.Close()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { p.Kill(); <-p.Done() })
	if ahead != nil && p != ahead.program {
		t.Errorf("held by %d, and %d was forked ahead", p.Holder(), ahead.program.holder)
	}
	return &running{Program: p, stdout: ours, stdin: inOurs}, nil
}

func (r *running) line(t *testing.T) string {
	t.Helper()
	var b []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(r.stdout, one); err != nil {
			t.Fatalf("the program's output ended after %q: %v", b, err)
		}
		if one[0] == '\n' {
			return string(b)
		}
		b = append(b, one[0])
	}
}

func (r *running) rest(t *testing.T) string {
	t.Helper()
	b, err := io.ReadAll(r.stdout)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s didn't happen in two minutes", what)
	}
}

func TestProgramRunsAndItsStatusIsSeen(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `echo hello; exit 7`)
		if got := r.rest(t); got != "hello\n" {
			t.Errorf("output %q", got)
		}
		within(t, "the end", r.Done())
		if exit := <-r.Exited(); exit.Status.ExitStatus() != 7 {
			t.Errorf("status %v", exit.Status)
		}
		if got := r.End(); got != (End{}) {
			t.Errorf("end %+v, want nothing left", got)
		}
	})
}

func TestOnlyThreeDescriptorsReachTheProgram(t *testing.T) {
	leak, err := os.Open("/dev/null") // close-on-exec, and one that isn't:
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	bad, err := syscall.Dup(int(leak.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(bad)
	for _, isolation := range isolations(t) {
		r := sh(t, isolation, `for f in /proc/self/fd/*; do echo ${f##*/}; done`)
		// The shell's own glob opens the directory as the next free descriptor.
		if got := r.rest(t); got != "0\n1\n2\n3\n" {
			t.Errorf("%s: descriptors %q", isolation, got)
		}
	}
}

func TestProgramsStreamsBlock(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `for n in 0 1 2; do grep flags /proc/self/fdinfo/$n; done`)
		// 04000 is O_NONBLOCK.
		for line := range strings.Lines(r.rest(t)) {
			var flags int
			if _, err := fmt.Sscanf(line, "flags: %o", &flags); err != nil || flags&0o4000 != 0 {
				t.Errorf("%q (%v)", line, err)
			}
		}
	})
}

func TestEnvironmentAndDirectoryAreExact(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r, err := tryStart(t, isolation, "/usr/bin/env", []string{"env"}, []string{"A=1"})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.rest(t); got != "PATH=/usr/bin:/bin\nA=1\n" {
			t.Errorf("environment %q", got)
		}
	})
}

func TestNoControllingTerminalAndDefaultSignals(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `(: </dev/tty) 2>/dev/null && echo tty; grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; read -r pid name state parent group session rest </proc/$$/stat; [ $pid = $group ] && [ $pid = $session ] && echo alone`)
		want := "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0022\nalone\n" // or it could signal its group and mean others
		if got := r.rest(t); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// What holds a run does nothing that the run asks of it. Of an orphan it hears after that.
func TestTheRunAsksNothingOfItsHolder(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `for s in USR1 TERM INT HUP; do kill -$s $PPID; done 2>/dev/null
			orphan=$(sh -c 'sh -c "exec >&-; exit" & echo $!'); while kill -0 $orphan 2>/dev/null; do :; done; echo still`)
		if got := r.rest(t); got != "still\n" {
			t.Errorf("it printed %q", got)
		}
		within(t, "the end", r.Done())
	})
}

func TestRequestReachesEveryProcess(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `
			setsid sh -c 'trap "echo grandchild; exit" TERM; echo up; while :; do sleep 0.05; done' &
			trap 'wait; echo leader; exit 3' TERM; echo up; while :; do wait; done`)
		r.line(t)
		r.line(t)
		r.Signal(syscall.SIGTERM)
		got := r.rest(t)
		if !strings.Contains(got, "grandchild") || !strings.Contains(got, "leader") {
			t.Errorf("output %q, want both to have noticed", got)
		}
		if exit := <-r.Exited(); exit.Status.ExitStatus() != 3 {
			t.Errorf("status %v", exit.Status)
		}
		within(t, "the end", r.Done())
	})
}

// hostile leaves behind a process that is detached twice, in a session of its
// own, ignores every signal it can and holds the pipe.
const hostile = `
	trap '' TERM INT HUP
	(setsid sh -c 'trap "" TERM INT HUP; (setsid sh -c "trap \"\" TERM INT HUP; echo \$\$; while :; do sleep 1; done" &) ' &)
	`

func TestKillEndsDetachedProcesses(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, hostile+`while :; do sleep 1; done`)
		r.line(t)
		r.Kill()
		within(t, "the end", r.Done())
		r.rest(t) // ends: nobody holds the pipe
		if got := r.End().Survivors; got != 0 {
			t.Errorf("%d survivors", got)
		}
	})
}

func TestLeftoversAreEndedAndCounted(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, hostile+`read go; exit 0`)
		r.line(t)
		fmt.Fprintln(r.stdin, "go")
		if exit := <-r.Exited(); exit.Status.ExitStatus() != 0 {
			t.Errorf("status %v", exit.Status)
		}
		select {
		case <-r.Done():
			t.Fatal("the tree counts as gone while a leftover lives")
		default:
		}
		r.Kill()
		within(t, "the end", r.Done())
		if got := r.End(); got.Leftovers < 1 || got.Survivors != 0 {
			t.Errorf("end %+v", got)
		}
	})
}

func TestKillEndsHoppers(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `hop() { (hop &) ; exit; }; echo up; hop & hop & while :; do sleep 1; done`)
		r.line(t)
		r.Kill()
		within(t, "the end", r.Done())
		r.rest(t)
	})
}

func TestFailureNamesTheStep(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		file := filepath.Join(t.TempDir(), "not-a-program")
		if err := os.WriteFile(file, []byte("plain text"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := tryStart(t, isolation, file, []string{"x"}, nil)
		var failed *StartError
		if !errors.As(err, &failed) || failed.Step != "exec" || !errors.Is(err, syscall.ENOEXEC) {
			t.Errorf("got %v, want exec: exec format error", err)
		}
		_, err = tryStart(t, isolation, "/bin/true", []string{"x", strings.Repeat("a", 3<<20)}, nil)
		if !errors.Is(err, syscall.E2BIG) {
			t.Errorf("got %v, want argument list too long", err)
		}
	})
}

func TestZeroSpecIsInvalid(t *testing.T) {
	var failed *StartError
	if _, err := Start(Spec{}); !errors.As(err, &failed) || failed.Step != "spec" {
		t.Errorf("got %v", err)
	}
}

func TestNextMeansIsTakenWhenOneIsRefused(t *testing.T) {
	// A cgroup whose name is taken can't be made.
	name := fmt.Sprintf("taken-%d", os.Getpid())
	first, err := lifecycle.NewCgroup(name)
	if err == nil {
		defer func() {
			if err := first.Remove(); err != nil {
				t.Error(err)
			}
		}()
	}
	null, exe, dir := opened(t, "/dev/null"), opened(t, "/bin/true"), opened(t, "/")
	spec := Spec{Argv: []string{"true"}, Exec: exe, Stdin: null, Stdout: null, Stderr: null, Plan: off(t, dir), Name: name}
	spec.Isolation = []paddock.Isolation{paddock.CgroupKill, paddock.Guardian}
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Isolation != paddock.Guardian {
		t.Errorf("held by %s", p.Isolation)
	}
	spec.Isolation = []paddock.Isolation{paddock.CgroupKill}
	var failed *StartError
	if _, err := Start(spec); !errors.As(err, &failed) || failed.Step != "hold the tree" {
		t.Errorf("got %v, want that nothing can hold the tree", err)
	}
}

func off(t testing.TB, dir *os.File) *contain.Plan {
	t.Helper()
	start, err := contain.IdentityOf(dir)
	if err != nil {
		t.Error(err)
	}
	plan, err := contain.NewPlan(contain.Wish{Level: paddock.Off, Dir: dir.Name(), Start: start, OpenFiles: 256}, contain.Probe())
	if err != nil {
		t.Error(err)
	}
	return plan
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Somebody with root's rights can take the socket for reports and keep it.
func TestReportsHeldFromOutsideDoesntKeepTheTreeOpen(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can take a descriptor from the process in between, and runs this
	}
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `read go; exit 7`)
		if _, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", r.holder, slotReport), os.O_WRONLY, 0); !errors.Is(err, syscall.ENXIO) {
			t.Errorf("opening the reports by a path: %v", err)
		}
		pidfd, err := unix.PidfdOpen(r.holder, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(pidfd)
		held, err := unix.PidfdGetfd(pidfd, slotReport, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(held)
		fmt.Fprintln(r.stdin, "go")
		within(t, "the end", r.Done())
		if exit := <-r.Exited(); exit.Status.ExitStatus() != 7 {
			t.Errorf("status %v", exit.Status)
		}
	})
}

// The reports of a process in between that is gone are read, also when nobody
// found the time before.
func TestReportsThatWereNotReadYetAreTaken(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, w := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer w.Close()
	defer ours.Close()
	r, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, kind := range []byte{reportLeader, reportLeader, reportEmpty} {
		b := make([]byte, reportSize)
		b[0], b[4] = kind, 3
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	p := &Program{exit: make(chan Exit, 1), empty: make(chan struct{}), Isolation: paddock.PIDNamespace}
	p.followRest(r.(*net.UnixConn))
	if exit := <-p.exit; int(exit.Status) != 3 || p.end.Leftovers != 3 {
		t.Errorf("exit %v, end %+v", exit, p.end)
	}
	select {
	case <-p.empty:
		t.Error("a report that a program with root's rights can forge was believed")
	default:
	}
}

// That a tree is empty is known as soon as the process in between says so, where it
// can't be made to say it, and its end is only waited for.
// The word of the process in between counts where no program can forge it.
func TestWhoseWordIsBelieved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by      paddock.Isolation
		beneath bool
		want    bool
	}{
		{paddock.UserPIDNamespace, false, true}, {paddock.PIDNamespace, true, true}, {paddock.PIDNamespace, false, false},
		{paddock.CgroupKill, true, false}, {paddock.Guardian, true, false},
	} {
		p := newProgram(c.by)
		p.beneath = c.beneath
		p.take(report{kind: reportEmpty})
		if p.early != c.want {
			t.Errorf("%+v: believed %t", c, p.early)
		}
	}
}

func TestEmptyIsKnownBeforeTheEndIsReaped(t *testing.T) {
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sh -c 'exec sleep 600' & exit 3`)
		if exit := <-r.Exited(); exit.Status.ExitStatus() != 3 {
			t.Errorf("status %v", exit.Status)
		}
		select {
		case <-r.Empty():
			t.Error("empty, with a process that sleeps")
		default:
		}
		r.Kill()
		within(t, "that the tree is empty", r.Empty())
		if got := r.End(); got.Leftovers != 1 && isolation == paddock.UserPIDNamespace || got.Survivors != 0 {
			t.Errorf("end %+v", got)
		}
		if r.took <= 0 {
			t.Errorf("the tree took %v", r.took)
		}
		within(t, "the end", r.Done())
		if got := r.Took(func() time.Duration { return 0 }); got != 0 { // it is counted once
			t.Errorf("took %v beside what our children did", got)
		}
	})
}
