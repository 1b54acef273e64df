package spawn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/owner"
)

// account is whose the runs of these tests are, as shellAtFull has it.
var account = paddock.Account{UID: 1_234_567, GID: 1_234_568}

// shellShown returns a spec of a shell, in a workspace that is shown as the run's own, and
// what it prints.
func shellShown(t *testing.T, network, script string, complete func(*contain.Wish) contain.Host) (Spec, *os.File) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root's runs have a ground; it is tried as root")
	}
	return shellPlanned(t, network, script, func(w *contain.Wish) contain.Host {
		shower := owner.As(account, UserNamespace)
		shown, err := shower.Show(w.Root, true)
		if err = errors.Join(err, shower.Close()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { shown.Close() })
		w.Shown = map[string]*os.File{w.Root: shown}
		return complete(w)
	})
}

// shellOnGround is that with a plan that builds upon a ground of host.
func shellOnGround(t *testing.T, host contain.Host, network, script string) (Spec, *os.File) {
	t.Helper()
	spec, output := shellShown(t, network, script, func(*contain.Wish) contain.Host { return host })
	if spec.Plan.Ground == nil {
		t.Fatal("the plan has no ground")
	}
	return spec, output
}

// groundAhead forks what has built that of host for account.
func groundAhead(t *testing.T, host contain.Host, account paddock.Account) *Ahead {
	t.Helper()
	forkedAhead(t).Close() // or the test is skipped
	a, err := ForkAhead(contain.NewGround(host, account))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Whether its tree is made in one, as the first of the start, ahead, or by what was forked
// ahead and has built nothing, a run sees the same.
func TestARunOnAGroundIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"none", "allowlist"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			// Of each mount where it is and how, but for the workspace's, which is another each time.
			script := what + "\nsed 's/^[^ ]* [^ ]* [^ ]* //' /proc/self/mountinfo | grep -v \"$PWD\" | sort; touch /x /usr/x /proc/sys/x 2>&1; echo a > x; stat -c %u x"
			host := contain.Probe()
			spec, output := shellShown(t, network, script, func(w *contain.Wish) contain.Host {
				w.Tmp = 1 << 30 // what it is anyway, and for this alone there is no ground
				return host
			})
			if spec.Plan.Ground != nil {
				t.Fatal("there is a ground")
			}
			want, _, _ := outcome(t, spec, output)
			for _, place := range []string{" / ro,", " /usr ro,", " /proc ro,", " /tmp rw,", " /dev/shm rw,"} {
				if !strings.Contains(want, place) {
					t.Errorf("no mount %q in\n%s", place, want)
				}
			}
			spec, output = shellOnGround(t, host, network, script)
			at, exit, _ := outcome(t, spec, output)
			if at != want || exit.Status.ExitStatus() != 0 {
				t.Errorf("at once: status %v; printed\n%s\ninstead of\n%s", exit.Status, at, want)
			}
			for name, forked := range map[string]*Ahead{"ahead": groundAhead(t, host, account), "ahead, without": forkedAhead(t)} {
				spec, output = shellOnGround(t, host, network, script)
				spec.Ahead = forked
				ahead, exit, holder := outcome(t, spec, output)
				if holder != forked.program.holder {
					t.Errorf("%s: held by %d, and %d was forked", name, holder, forked.program.holder)
				}
				if ahead != want || exit.Status.ExitStatus() != 0 {
					t.Errorf("%s: status %v; printed\n%s\ninstead of\n%s", name, exit.Status, ahead, want)
				}
			}
		})
	}
}

// What waits on a ground has nothing else of the host, and no capability it could give.
func TestWhatWaitsOnAGround(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root's runs have a ground; it is tried as root")
	}
	a := groundAhead(t, contain.Probe(), account)
	defer a.Close()
	if err := saidHello(a); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/root", a.program.holder))
	if err != nil {
		t.Fatal(err)
	}
	ours := []string{"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			t.Errorf("/%s is there", e.Name())
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.program.holder))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CapBnd:\t0000000000000000\n", "Uid:\t1234567\t1234567\t1234567\t1234567\n"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("no %q in\n%s", want, status)
		}
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.program.holder))
	if err != nil || len(fds) != 1 {
		t.Errorf("it holds %v, %v", fds, err)
	}
}

// A run is started in the usual way where its ground would be another.
func TestAnotherGround(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root's runs have a ground; it is tried as root")
	}
	probed := contain.Probe()
	other := probed
	other.Sources = slices.Clone(probed.Sources)
	other.Sources[0].Inode++ // as if the directory had been exchanged
	fewer := probed
	fewer.Etc = nil
	for name, c := range map[string]struct {
		host    contain.Host
		account paddock.Account
	}{
		"another account": {probed, paddock.Account{UID: account.UID + 1, GID: account.GID}},
		"other files":     {other, account},
		"fewer files":     {fewer, account},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, output := shellOnGround(t, probed, "none", "echo started; id -u; ls /etc/ld.so.cache")
			spec.Ahead = groundAhead(t, c.host, c.account)
			pid := spec.Ahead.program.holder
			if got, _, holder := outcome(t, spec, output); got != "started\n1000\n/etc/ld.so.cache\n" || holder == pid {
				t.Errorf("printed %q, held by %d", got, holder)
			}
			within(t, "the end of what was forked ahead", spec.Ahead.program.Done())
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		spec, output := shellAtFull(t, "none", "echo started")
		spec.Ahead = groundAhead(t, probed, account)
		pid := spec.Ahead.program.holder
		if got, _, holder := outcome(t, spec, output); got != "started\n" || holder == pid {
			t.Errorf("printed %q, held by %d", got, holder)
		}
	})
}

// What can't be built says why, in the words of the start that needs it.
func TestAGroundThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	host := contain.Probe()
	host.Directories = append(slices.Clone(host.Directories), "/no/such/directory")
	spec, _ := shellOnGround(t, host, "none", "echo started")
	spec.Ahead = groundAhead(t, host, account)
	_, err := Start(spec)
	failed, ok := errors.AsType[*StartError](err)
	if !ok || failed.Step != "show /no/such/directory" || !errors.Is(failed.Err, syscall.ENOENT) {
		t.Errorf("%v", err)
	}
	within(t, "the end of what was forked ahead", spec.Ahead.program.Done())
	_ = spec.Stdout.Close() // nobody else has it
	if b, err := io.ReadAll(spec.Stdin); err != nil || len(b) > 0 {
		t.Error(err)
	}
}

// A namespace that was made ahead is one like any other once it has maps, and has them once.
func TestNamespaceAhead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root maps others; it is tried as root")
	}
	unused, err := NamespaceAhead()
	if err != nil {
		t.Fatal(err)
	}
	pid := unused.program.holder
	unused.Close()
	unused.Close()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("closed, and it is there: %v", err)
	}
	if f, err := unused.Map("0 0 1\n", "0 0 1\n"); f != nil || err == nil {
		t.Errorf("closed, and mapped: %v, %v", f, err)
	}
	(*Namespace)(nil).Close()

	n, err := NamespaceAhead()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	swap := owner.Swap(0, account.UID)
	f, err := n.Map(swap, swap)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if again, err := n.Map(swap, swap); again != nil || err == nil {
		t.Errorf("mapped twice: %v, %v", again, err)
	}
	root := t.TempDir()
	shower := owner.As(account, func(string, string) (*os.File, error) { return f, nil })
	shown, err := shower.Show(root, false)
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	if info, err := shown.Stat(); err != nil || info.Sys().(*syscall.Stat_t).Uid != account.UID {
		t.Errorf("shown as %+v, %v", info, err)
	}

	bad, err := NamespaceAhead()
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if f, err := bad.Map("no map", "no map"); f != nil || err == nil {
		t.Errorf("no map was taken: %v", err)
	}
}

// namespaceMain makes a user namespace ahead, says which process holds it, and waits to
// be killed.
func namespaceMain() int {
	n, err := NamespaceAhead()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(n.program.holder)
	select {}
}
