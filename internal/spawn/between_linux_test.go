package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock"
	"paddock/internal/contain"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/testproc"
)

// shellOff returns a spec of a shell that nothing contains, held by means, and what it prints.
func shellOff(t *testing.T, script string, means ...paddock.Isolation) (Spec, *os.File) {
	t.Helper()
	spec, done := trueSpec(t, "", nil, fmt.Sprintf("between-%d-%s", os.Getpid(), filepath.Base(t.Name())))
	t.Cleanup(done)
	ours, theirs, err := OutputPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	spec.Argv, spec.Env, spec.Exec = []string{"sh", "-c", script}, []string{"PATH=/usr/bin:/bin"}, opened(t, shell)
	spec.Plan, spec.Stdout, spec.Stderr, spec.Isolation = off(t, opened(t, t.TempDir())), theirs, theirs, means
	return spec, ours
}

// between forks ahead by the first of means that there is.
func between(t *testing.T, means ...paddock.Isolation) *Ahead {
	t.Helper()
	if plainRoad || !ownStacks {
		t.Skip("nothing is forked ahead by this road")
	}
	a, err := ForkBetween(means)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const seen = `id -u; cat /proc/self/uid_map /proc/self/cgroup; grep -E '^(Groups|NoNewPrivs|Sig[BIC]|Cap)' /proc/self/status; ls /proc/self/fd | wc -l
umask; ulimit -n; grep -vcE ' (/tmp|/var|/dev/shm)/' /proc/mounts; readlink /proc/self/ns/net /proc/self/ns/uts`

// Whoever is held by what was forked ahead sees what it would see without, and what is
// mounted meanwhile, too: the mounts are taken over when it starts.
func TestARunBelowFullForkedAheadIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		a := between(t, isolation)
		ours, err := os.Readlink("/proc/self/ns/mnt")
		theirs, unseen := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", a.program.holder))
		if err != nil || unseen == nil && theirs != ours {
			t.Errorf("%s, %v, instead of %s", theirs, err, ours)
		}
		spec, output := shellOff(t, seen, isolation)
		spec.Name += "-a"
		want, _, _ := outcome(t, spec, output)
		spec, output = shellOff(t, seen, isolation)
		spec.Name, spec.Ahead = spec.Name+"-a", a
		got, exit, holder := outcome(t, spec, output)
		if holder != a.program.holder || a.program.Isolation != isolation {
			t.Errorf("held by %d and %s, and %d was forked ahead", holder, a.program.Isolation, a.program.holder)
		}
		if got != want || exit.Status.ExitStatus() != 0 {
			t.Errorf("status %v; printed\n%s\ninstead of\n%s", exit.Status, got, want)
		}
	})
}

// Nobody of our account looks into what waits: what /proc has of a process that can be looked
// into is its user's, and else root's.
func TestWhatWaitsIsClosed(t *testing.T) {
	t.Parallel()
	closed := func(t *testing.T, a *Ahead) {
		t.Helper()
		defer a.Close()
		tick, late := time.NewTicker(time.Millisecond), time.After(2*time.Minute)
		defer tick.Stop()
		for { // it closes itself, as one of the first things that it does
			info, err := os.Stat(fmt.Sprintf("/proc/%d/environ", a.program.holder))
			if err != nil {
				t.Fatal(err)
			}
			uid := info.Sys().(*syscall.Stat_t).Uid
			if uid == 0 {
				return
			}
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("it is open to user %d", uid)
			}
		}
	}
	forEach(t, func(t *testing.T, isolation paddock.Isolation) { closed(t, between(t, isolation)) })
	if os.Geteuid() != 0 { // at full root's belongs to another than waits for it
		closed(t, forkedAhead(t))
	}
}

// What was forked serves those alone that would be held by the same without it.
func TestMeansOfWhatWasForkedAhead(t *testing.T) {
	t.Parallel()
	const pid, user, cgroup, guardian = paddock.PIDNamespace, paddock.UserPIDNamespace, paddock.CgroupKill, paddock.Guardian
	type means = []paddock.Isolation
	for _, c := range []struct {
		by              paddock.Isolation
		refused, wanted means
		want            paddock.Isolation // the first that it is to be tried with
	}{
		{pid, nil, means{pid, user, cgroup, guardian}, pid},
		{pid, nil, means{user, cgroup, guardian}, ""},
		{pid, nil, means{guardian}, ""},
		{user, means{pid}, means{pid, user, cgroup, guardian}, user},
		{user, nil, means{pid, user}, ""},
		{user, means{pid}, means{user}, user},
		{cgroup, means{pid, user}, means{pid, user, cgroup, guardian}, cgroup},
		{cgroup, means{pid, user}, means{guardian}, guardian},
		{cgroup, means{user}, means{pid, guardian}, ""},
		{guardian, nil, means{cgroup, guardian}, cgroup},
		{guardian, nil, nil, ""},
	} {
		a := &Ahead{by: c.by, refused: c.refused}
		var got paddock.Isolation
		if left := a.means(c.wanted); len(left) > 0 {
			got = left[0]
		}
		if got != c.want {
			t.Errorf("by %s after %v, for %v: %q instead of %q", c.by, c.refused, c.wanted, got, c.want)
		}
	}
}

// Whatever is wrong with it, the run starts.
func TestWhatWasForkedAheadBelowFullDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wanted paddock.Isolation
		change func(*Spec)
	}{
		"other means":    {paddock.UserPIDNamespace, func(*Spec) {}},
		"the plain road": {paddock.Guardian, func(s *Spec) { s.Plain = true }},
		"ended": {paddock.Guardian, func(s *Spec) {
			if err := syscall.Kill(s.Ahead.program.holder, syscall.SIGKILL); err != nil {
				panic(err)
			}
		}},
		"a cgroup that can't be made": {paddock.CgroupKill, func(s *Spec) { s.Name, s.Isolation = "../no name", append(s.Isolation, paddock.UserPIDNamespace) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, output := shellOff(t, "echo started", c.wanted)
			spec.Ahead = between(t, paddock.Guardian)
			pid := spec.Ahead.program.holder
			c.change(&spec)
			if got, _, holder := outcome(t, spec, output); got != "started\n" || holder == pid {
				t.Errorf("printed %q, held by %d", got, holder)
			}
			within(t, "the end of what was forked ahead", spec.Ahead.program.Done())
		})
	}
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		spec, output := shellAtFull(t, "none", "echo started")
		spec.Ahead = between(t, paddock.UserPIDNamespace)
		pid := spec.Ahead.program.holder
		if got, _, holder := outcome(t, spec, output); got != "started\n" || holder == pid {
			t.Errorf("printed %q, held by %d", got, holder)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		if a, err := ForkBetween(nil); a != nil || err == nil {
			t.Errorf("%v, %v", a, err)
		}
	})
}

// A cgroup that can't be made has the next means tried, by the same process.
func TestTheNextMeansByWhatWasForkedAhead(t *testing.T) {
	t.Parallel()
	spec, output := shellOff(t, "echo started", paddock.CgroupKill, paddock.Guardian)
	spec.Ahead, spec.Name = between(t, paddock.CgroupKill, paddock.Guardian), "../no name"
	a := spec.Ahead
	if got, _, holder := outcome(t, spec, output); got != "started\n" || holder != a.program.holder || a.program.Isolation != paddock.Guardian {
		t.Errorf("printed %q, held by %d and %s", got, holder, a.program.Isolation)
	}
}

// Where the end of the last process would take the mounts along, and that be waited for, they
// are kept until it was.
func TestMountsOutliveTheTree(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, isolation paddock.Isolation) {
		r := sh(t, isolation, "read x")
		if kept := r.mounts != nil; kept != (isolation == paddock.PIDNamespace) {
			t.Fatalf("kept %t", kept)
		}
		if r.mounts == nil {
			return
		}
		ours, err1 := os.Stat("/proc/self/ns/mnt")
		kept, err2 := r.mounts.Stat()
		theirs, err3 := os.Stat(fmt.Sprintf("/proc/%d/ns/mnt", r.holder))
		if err := errors.Join(err1, err2, err3); err != nil || os.SameFile(kept, ours) || !os.SameFile(kept, theirs) {
			t.Errorf("other mounts than the run's: %v", err)
		}
		r.Kill()
		within(t, "the end", r.Done())
		if members, err := os.ReadDir(fmt.Sprintf("/proc/%d", r.holder)); err == nil {
			t.Errorf("ended, and there: %d", len(members))
		}
	})
}

// What is kept from a run at standard is the same with a hedge that was made before it.
func TestARunBehindAHedgeIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	host := contain.Probe()
	if err := host.Can(paddock.Standard); err != nil {
		testproc.Skip(t, err.Error())
	}
	root, elsewhere := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(root), 0o755), os.Chmod(root, 0o777), os.Chmod(elsewhere, 0o777), os.WriteFile(filepath.Join(elsewhere, "text"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	script := `for f in /etc/passwd /etc/shadow /etc/hosts /etc/ld.so.cache /proc/self/status /proc/1/environ ` + elsewhere + `/text /bin/sh /usr/bin/env; do cat $f >/dev/null 2>&1; echo $f $?; done
for d in / /etc /usr /root /home /dev /proc /srv /var ` + elsewhere + `; do ls $d >/dev/null 2>&1; echo $d $?; done
for f in /usr/x /etc/x /dev/null /dev/zero ` + elsewhere + `/text ` + elsewhere + `/new new; do (echo x >> $f) 2>/dev/null; echo $f $?; done
/usr/bin/env true; echo $?; ls /proc/self/fd | wc -l; grep -E '^(NoNew|Seccomp|Cap)' /proc/self/status; kill -0 $PPID 2>/dev/null; echo $?`
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	exec, dir := opened(t, shell), opened(t, root)
	run := func(hedge *contain.Hedge) string {
		t.Helper()
		spec, output := shellOff(t, script, lifecycle.Isolations(os.Geteuid())...)
		w := contain.Wish{Level: paddock.Standard, Network: "none", Root: root, Dir: root, Programs: []string{shell}, OpenFiles: 64, Hedge: hedge}
		if os.Geteuid() == 0 {
			w.Account = &paddock.Account{UID: testproc.Nobody, GID: testproc.Nobody}
		}
		var err1, err2, err3 error
		w.Exec, err1 = contain.IdentityOf(exec)
		w.Start, err2 = contain.IdentityOf(dir)
		spec.Plan, err3 = contain.NewPlan(w, host)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if handed := len(spec.Plan.Files) > 0; handed != (hedge != nil) {
			t.Errorf("with a hedge %t, and handed over %t", hedge != nil, handed)
		}
		got, exit, _ := outcome(t, spec, output)
		if exit.Status != 0 {
			t.Errorf("status %v", exit.Status)
		}
		return got
	}
	want := run(nil)
	hedge, err := contain.NewHedge(host)
	if err != nil {
		t.Fatal(err)
	}
	defer hedge.Close()
	if got := run(hedge); got != want || !strings.Contains(got, "/etc/shadow 1") || !strings.Contains(got, "new 0") || !strings.Contains(got, "/etc/passwd 0") || !strings.Contains(got, "/srv 2") || !strings.Contains(got, "/usr/x 2") || !strings.Contains(got, "NoNewPrivs:\t1") {
		t.Errorf("printed\n%s\ninstead of\n%s", got, want)
	}
}
