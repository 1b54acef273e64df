package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/testproc"
)

// shellAtFull returns a spec of a shell at level full, and what it prints.
func shellAtFull(t *testing.T, network, script string) (Spec, *os.File) {
	t.Helper()
	return shellPlanned(t, network, script, func(*contain.Wish) contain.Host { return contain.Probe() })
}

// shellPlanned is that, where complete completes its wish and says for which host.
func shellPlanned(t *testing.T, network, script string, complete func(*contain.Wish) contain.Host) (Spec, *os.File) {
	t.Helper()
	open := func(f *os.File, err error) *os.File {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := contain.Probe().Can(paddock.Full); err != nil {
		testproc.Skip(t, err.Error())
	}
	exec, dir := open(os.Open(shell)), open(os.Open(root))
	wish := contain.Wish{Level: paddock.Full, Network: network, Root: root, Dir: root, Programs: []string{shell}, OpenFiles: 64}
	if os.Geteuid() == 0 {
		wish.Account = &account
	}
	if wish.Exec, err = contain.IdentityOf(exec); err != nil {
		t.Fatal(err)
	}
	if wish.Start, err = contain.IdentityOf(dir); err != nil {
		t.Fatal(err)
	}
	plan, err := contain.NewPlan(wish, complete(&wish))
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := OutputPipe()
	open(ours, err)
	open(theirs, err)
	return Spec{
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Exec: exec, Plan: plan,
		Stdin: open(os.Open(os.DevNull)), Stdout: theirs, Stderr: theirs, Isolation: []paddock.Isolation{paddock.UserPIDNamespace}, Plain: plainRoad,
	}, ours
}

// outcome starts spec and returns what it printed, how it ended and who held it.
func outcome(t *testing.T, spec Spec, output *os.File) (printed string, exit Exit, holder int) {
	t.Helper()
	p, err := Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(p.Routes(), p.Listener(), p.Socket()) {
		defer f.Close()
	}
	exit = <-p.Exited()
	within(t, "the end", p.Done())
	spec.Stdout.Close()
	b, err := io.ReadAll(output)
	if err != nil {
		t.Fatal(err)
	}
	if end := p.End(); end != (End{}) {
		t.Errorf("end %+v", end)
	}
	return string(b), exit, p.Holder()
}

func forkedAhead(t *testing.T) *Ahead {
	t.Helper()
	if plainRoad || !ownStacks {
		t.Skip("nothing is forked ahead by this road")
	}
	if err := contain.Probe().Can(paddock.Full); err != nil {
		testproc.Skip(t, err.Error())
	}
	a, err := ForkAhead(nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// what is a script that tells everything in which the two ways might differ, but for
// the names of namespaces, which are told apart from ours below.
const what = `id -u; id -g; cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups; uname -n; cat /proc/net/dev | grep -c :
ls /proc/self/fd | wc -l; grep -E 'Cap|NoNewPrivs|Seccomp:|SigBlk|SigIgn|Groups' /proc/self/status; cat /proc/self/cgroup /proc/self/mountinfo | sed 's/^[^ ]* [^ ]* [^ ]*//' | grep -v "$PWD" | wc -l
echo $$; set -- /proc/[0-9]*; echo $#; cat /proc/1/maps /proc/1/environ 2>&1 | wc -c; umask; ulimit -n; ls -a /; pwd | wc -w`

func TestARunForkedAheadIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	a := forkedAhead(t)
	spec, output := shellAtFull(t, "none", what)
	want, _, _ := outcome(t, spec, output)
	spec, output = shellAtFull(t, "none", what)
	spec.Ahead = a
	got, exit, holder := outcome(t, spec, output)
	if holder != a.program.holder {
		t.Errorf("held by %d, and %d was forked ahead", holder, a.program.holder)
	}
	if got != want || exit.Status.ExitStatus() != 0 {
		t.Errorf("status %v; printed\n%s\ninstead of\n%s", exit.Status, got, want)
	}
}

func TestARunForkedAheadHasNamespacesOfItsOwn(t *testing.T) {
	t.Parallel()
	const script = `for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done`
	spec, output := shellAtFull(t, "none", script)
	spec.Ahead = forkedAhead(t)
	got, _, _ := outcome(t, spec, output)
	if n := strings.Count(got, ":["); n != 7 {
		t.Fatalf("printed %s", got)
	}
	for line := range strings.Lines(got) {
		kind, _, _ := strings.Cut(line, ":")
		if ours, err := os.Readlink("/proc/self/ns/" + kind); err != nil || ours == strings.TrimSpace(line) {
			t.Errorf("the run is in our %s, %v", ours, err)
		}
	}
}

// What there is after the fork is what the run sees: mounts are taken over when it starts.
func TestWhatIsForkedAheadHoldsNoMounts(t *testing.T) {
	t.Parallel()
	a := forkedAhead(t)
	defer a.Close()
	ours, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", a.program.holder))
	if err != nil && os.Geteuid() != 0 {
		t.Skip("an ordinary user isn't shown that; it is tried as root")
	}
	if theirs != ours {
		t.Errorf("%s, %v, instead of %s", theirs, err, ours)
	}
}

func TestWhatWasForkedAheadForNothing(t *testing.T) {
	t.Parallel()
	a := forkedAhead(t)
	pid := a.program.holder
	if err := syscall.Kill(pid, 0); err != nil {
		t.Error(err)
	}
	a.Close()
	a.Close()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("closed, and it is there: %v", err)
	}
	(*Ahead)(nil).Close()

	spec, output := shellAtFull(t, "none", "echo started")
	spec.Ahead = a
	if got, _, holder := outcome(t, spec, output); got != "started\n" || holder == pid {
		t.Errorf("printed %q, held by %d", got, holder)
	}
}

// Whatever is wrong with it, the run starts.
func TestWhatWasForkedAheadDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(*Spec){
		"another network": func(s *Spec) {},
		"too much to say": func(s *Spec) {
			s.Argv = append(s.Argv, strings.Repeat("x", aheadSize/3), strings.Repeat("y", aheadSize/3))
		},
		"the plain road": func(s *Spec) { s.Plain = true },
		"ended at once": func(s *Spec) {
			if err := syscall.Kill(s.Ahead.program.holder, syscall.SIGKILL); err != nil {
				panic(err)
			}
		},
		"ended while it waited": func(s *Spec) {
			if err := saidHello(s.Ahead); err != nil {
				panic(err)
			}
			if err := syscall.Kill(s.Ahead.program.holder, syscall.SIGKILL); err != nil {
				panic(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := "none"
			if name == "another network" {
				network = "host"
			}
			spec, output := shellAtFull(t, network, "echo started")
			spec.Ahead = forkedAhead(t)
			pid := spec.Ahead.program.holder
			c(&spec)
			if got, _, holder := outcome(t, spec, output); got != "started\n" || holder == pid {
				t.Errorf("printed %q, held by %d", got, holder)
			}
			within(t, "the end of what was forked ahead", spec.Ahead.program.Done())
		})
	}
}

// saidHello returns when a has said that it waits.
func saidHello(a *Ahead) error {
	conn, err := a.reports.SyscallConn()
	if err != nil {
		return err
	}
	var polled error
	err = conn.Control(func(fd uintptr) {
		for {
			_, polled = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if polled != unix.EINTR {
				return
			}
		}
	})
	return errors.Join(err, polled)
}

// A step of the run that fails is the run's, and isn't tried again.
func TestARunForkedAheadThatCannotStart(t *testing.T) {
	t.Parallel()
	spec, _ := shellAtFull(t, "none", "echo started")
	spec.Ahead = forkedAhead(t)
	spec.Plan.Become[0].Nr = ^uintptr(0) >> 40 // no such call
	before := spec.Ahead.program.holder
	_, err := Start(spec)
	failed, ok := errors.AsType[*StartError](err)
	if !ok || failed.Step != spec.Plan.Become[0].Step || !errors.Is(failed.Err, syscall.ENOSYS) {
		t.Errorf("%v", err)
	}
	if err := syscall.Kill(before, 0); err != syscall.ESRCH {
		t.Errorf("what was forked ahead is there: %v", err)
	}
}

func TestWhatIsForkedAheadEndsWithItsMaker(t *testing.T) {
	t.Parallel()
	if plainRoad || !ownStacks || contain.Probe().Can(paddock.Full) != nil {
		t.Skip("nothing is forked ahead here")
	}
	for _, role := range []string{"ahead", "ground", "namespace"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			endsWithItsMaker(t, role)
		})
	}
	forEach(t, func(t *testing.T, isolation paddock.Isolation) { endsWithItsMaker(t, "between", string(isolation)) })
}

func endsWithItsMaker(t *testing.T, role ...string) {
	maker := testproc.Self(t, role...)
	out, err := maker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := maker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = maker.Wait()
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(ended, 60_000); n != 1 && err != unix.EINTR {
			t.Errorf("its maker was killed, and it is there: %v", err)
		} else if n == 1 {
			return
		}
	}
}

// aheadMain forks ahead, says which process, and waits to be killed.
func aheadMain() int { return forkAndWait(nil) }

// groundMain does so when a ground has been built, where there may be one.
func groundMain() int {
	if os.Geteuid() != 0 {
		return forkAndWait(nil)
	}
	return forkAndWait(contain.NewGround(contain.Probe(), account))
}

// betweenMain does so by the means that it is told.
func betweenMain() int {
	return waitFor(ForkBetween([]paddock.Isolation{paddock.Isolation(os.Args[len(os.Args)-1])}))
}

func forkAndWait(ground *contain.Ground) int {
	a, err := ForkAhead(ground)
	if err == nil && ground != nil {
		err = saidHello(a)
	}
	return waitFor(a, err)
}

func waitFor(a *Ahead, err error) int {
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(a.program.holder)
	select {}
}

// What is stopped while it waits keeps nobody from ending: not who has no run for it, and
// not who made a namespace by it.
func TestWhatIsStoppedAheadIsEnded(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() (*Program, func(), error){
		"full": func() (*Program, func(), error) { a, err := ForkAhead(nil); return a.program, a.Close, err },
		"between": func() (*Program, func(), error) {
			a := between(t, paddock.UserPIDNamespace)
			return a.program, a.Close, nil
		},
		"guardian":  func() (*Program, func(), error) { a := between(t, paddock.Guardian); return a.program, a.Close, nil },
		"namespace": func() (*Program, func(), error) { n, err := NamespaceAhead(); return n.program, n.Close, err },
		"mapped namespace": func() (*Program, func(), error) {
			n, err := NamespaceAhead()
			return n.program, func() {
				id := fmt.Sprintf("%d %[1]d 1\n", os.Geteuid())
				if f, err := n.Map(id, id); err == nil { // only root may map groups
					f.Close()
				}
				n.Close()
			}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forkedAhead(t).Close() // or the test is skipped
			p, end, err := make()
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(p.holder, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			go end()
			within(t, "its end", p.Done())
		})
	}
}
