//go:build linux

package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// limited opens a world whose runs have these limits at the level.
func limited(t *testing.T, level paddock.Level, limits string) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "cgroups are root's")
	}
	text := strings.Replace(permissive, "concurrent: 1000}", "concurrent: 1000, "+limits+"}", 1)
	return newWorld(t, strings.Replace(text, "{require: off}", "{require: "+string(level)+"}", 1))
}

// everyLevel runs the test at each level, and skips what can't be given here.
func everyLevel(t *testing.T, test func(t *testing.T, level paddock.Level)) {
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard, paddock.Off} {
		t.Run(string(level), func(t *testing.T) { t.Parallel(); test(t, level) })
	}
}

// hog fills memory, with a process that its caller would outlive.
const hog = `echo up; head -c 300m /dev/zero | tail -c 299m > /dev/null; echo survived; exec sleep 100`

func TestMemoryHogEndsOutOfMemoryAndAlone(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level paddock.Level) {
		w := limited(t, level, "memory: 48MiB")
		w.held("true") // which skips what can't be held here, as what is beside it wouldn't
		bystander := w.sh("exec sleep 100")
		run := w.held(hog)
		if r := run.Outcome.Reason; run.State != Killed || r.Kind != paddock.ReasonOutOfMemory || r.Limit != 48<<20 {
			t.Errorf("%s %+v", run.State, r)
		}
		if got := w.text(run, Stdout); !strings.HasPrefix(got, "up\n") {
			t.Errorf("it printed %q", got)
		}
		if run.Enforced == nil || !strings.HasPrefix(run.Enforced.Limits["memory"], "cgroup-") || run.Enforced.Limits["cpus"] != "none" {
			t.Errorf("enforced %+v", run.Enforced)
		}
		if got, err := w.r.Status(t.Context(), bystander.ID); err != nil || got.State != Running {
			t.Errorf("the run beside it: %s, %v", got.State, err)
		}
	})
}

// bomb doubles itself until it can't.
const bomb = `f() { sleep 1 & f & f & wait; }; f; f; echo over`

func TestForkBombIsBounded(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level paddock.Level) {
		w := limited(t, level, "processes: 24")
		run, err := w.try(bomb)
		if text := refusedAs(err); strings.HasPrefix(text, string(paddock.ContainmentUnavailable)) {
			testproc.Skip(t, text)
		}
		must(t, err)
		w.prints(run, Stderr, "fork")
		if calm := w.done("sleep 0.1; echo calm"); w.text(calm, Stdout) != "calm\n" {
			t.Errorf("beside it %+v", calm.Outcome)
		}
		_, err = w.r.Kill(t.Context(), run.ID, KILL, "")
		must(t, err)
		run = w.settle(run)
		if run.Outcome.Survivors != 0 {
			t.Errorf("survivors: %+v", run.Outcome)
		}
		if !mentions(run.Outcome.Denied, "more than 24 processes") {
			t.Errorf("denied %+v; %s %+v", run.Outcome.Denied, run.State, run.Outcome.Reason)
		}
	})
}

func mentions(denied []paddock.Denial, text string) bool {
	for _, d := range denied {
		if d.Call == "fork" && d.Count > 0 && strings.Contains(d.Text, text) {
			return true
		}
	}
	return false
}

func TestProcessorsAreShared(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level paddock.Level) {
		w := limited(t, level, "cpus: 0.1")
		run := w.held(`i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; times`)
		var user time.Duration
		if fields := strings.Fields(w.text(run, Stdout)); len(fields) > 0 {
			minutes, seconds, _ := strings.Cut(strings.TrimSuffix(fields[0], "s"), "m")
			user, _ = time.ParseDuration(minutes + "m" + seconds + "s")
		}
		if user == 0 || time.Duration(run.Duration) < 4*user {
			t.Errorf("it computed for %s and took %s: %q", user, time.Duration(run.Duration), w.text(run, Stdout))
		}
		if got := run.Enforced.Limits["cpus"]; !strings.HasPrefix(got, "cgroup-") {
			t.Errorf("enforced by %q", got)
		}
	})
}

// groups lists the cgroups there are of a run.
func groups(t *testing.T, id RunID) (found []string) {
	t.Helper()
	must(t, filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // another run's, gone meanwhile
			return nil
		case err == nil && d.Name() == string(id):
			found = append(found, path)
		}
		return err
	}))
	return found
}

// No cgroup is left of a run, however it and its supervisor end.
func TestNoGroupIsLeft(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level paddock.Level) {
		w := limited(t, level, "memory: 256MiB, processes: 99, cpus: 2")
		run := w.held("true")
		if left := groups(t, run.ID); left != nil {
			t.Errorf("after its end: %q", left)
		}
		run = w.sh("exec sleep " + unique(t))
		until(t, "it runs", func() bool {
			got, err := w.r.Status(t.Context(), run.ID)
			run = got
			return err == nil && got.State == Running && got.Supervisor != nil
		})
		if groups(t, run.ID) == nil {
			t.Error("none while it runs")
		}
		must(t, unix.Kill(run.Supervisor.PID, unix.SIGKILL))
		if run = w.settle(run); run.State != Lost {
			t.Errorf("%s %+v", run.State, run.Outcome)
		}
		until(t, "its groups are gone", func() bool { return groups(t, run.ID) == nil })
	})
}

// Whichever means holds the tree, it is held to its limits.
func TestLimitsWithEveryIsolation(t *testing.T) {
	t.Parallel()
	for _, isolation := range []paddock.Isolation{paddock.PIDNamespace, paddock.CgroupKill, paddock.Guardian} {
		t.Run(string(isolation), func(t *testing.T) {
			t.Parallel()
			w := limited(t, paddock.Off, "memory: 48MiB")
			w.r = w.open(func(o *Options) { o.isolation = []paddock.Isolation{isolation} })
			run := w.done(hog)
			if r := run.Outcome.Reason; run.Isolation != isolation || r.Kind != paddock.ReasonOutOfMemory || run.Outcome.Survivors != 0 {
				t.Errorf("%s %s %+v", run.Isolation, run.State, run.Outcome)
			}
			if left := groups(t, run.ID); left != nil {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// Defaults are on where something is contained, and nowhere else.
func TestLimitsByDefault(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, level paddock.Level) {
		w := limited(t, level, "open_files: 512")
		run := w.held("true")
		l := run.Limits
		if on := level != paddock.Off; on != (l.Memory == 2<<30 && l.Processes == 256) || on != (run.Enforced.Limits["memory"] != "none") {
			t.Errorf("limits %+v, enforced %v", l, run.Enforced.Limits)
		}
	})
}

// An ordinary user without a cgroup gets no promise: what the policy says is
// refused with the reason, and what it doesn't say is recorded as none.
func TestLimitsOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "it becomes another user")
	}
	full := "containment: {require: full}\n"
	got := asHost(t, testproc.Nobody, hostBase(t, testproc.Nobody), "limits "+full)
	if strings.Contains(got.Text, string(paddock.ContainmentUnavailable)) {
		testproc.Skip(t, got.Text)
	}
	if e := got.Run.Enforced; got.Run.State != Exited || e == nil || e.Limits["memory"] != "none" || e.Limits["processes"] != "rlimit-nproc" {
		t.Errorf("%s %q: %+v", got.Run.State, got.Text, e)
	}
	got = asHost(t, testproc.Nobody, hostBase(t, testproc.Nobody), "limits "+full+"limits: {processes: 20}\n")
	if got.Run.State != Exited || got.Run.Limits.Processes != 20 {
		t.Errorf("%s %q", got.Run.State, got.Text)
	}
	for _, text := range []string{full, "containment: {require: off}\n"} {
		got = asHost(t, testproc.Nobody, hostBase(t, testproc.Nobody), "limits "+text+"limits: {memory: 1GiB}\n")
		if !strings.HasPrefix(got.Text, string(paddock.ContainmentUnavailable)) || !strings.Contains(got.Text, "limits memory to 1073741824 bytes, which can't be enforced here: cgroup v2: ") ||
			!strings.Contains(got.Text, "Delegate=yes") {
			t.Errorf("%q", got.Text)
		}
	}
}

// refusedAs says a refusal in one line; empty if err is none.
func refusedAs(err error) string {
	var r *Refusal
	if !errors.As(err, &r) {
		return ""
	}
	return fmt.Sprintf("%s: %s %s", r.Code, r.Message, r.Hint)
}
