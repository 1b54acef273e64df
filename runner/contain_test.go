//go:build linux

package runner

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

// contained opens a world whose policy has these words for containment.
func contained(t *testing.T, words string) *world {
	t.Helper()
	return newWorld(t, strings.Replace(permissive, "containment: {require: off}", "containment: "+words, 1))
}

// held runs a line to its end, or skips where the level can't be given.
func (w *world) held(line string) Run {
	w.t.Helper()
	run, err := w.try(line)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Code == paddock.ContainmentUnavailable {
		testproc.Skip(w.t, refusal.Message)
	}
	must(w.t, err)
	return w.settle(run)
}

// At each level the record says what was enforced, and reading, writing and the
// network are as the policy says.
func TestContainmentKeys(t *testing.T) {
	t.Parallel()
	granted, kept := outside(t, "granted"), outside(t, "kept")
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := contained(t, "{require: "+string(level)+", read: ["+granted+"]}")
			run := w.held(`cat ` + granted + `/file; cat ` + kept + `/file; echo x > ` + granted + `/new; echo x > new && echo workspace; echo x > "$HOME/x" && echo home; echo x > /tmp/$$ && rm /tmp/$$ && echo tmp`)
			if got, want := w.text(run, Stdout), "granted\nworkspace\nhome\ntmp\n"; got != want {
				t.Errorf("it could do %q, want %q; it says\n%s", got, want, w.text(run, Stderr))
			}
			if e := run.Enforced; e == nil || e.Level != level || e.LandlockABI == 0 || e.Filter == "" || !e.NoNewPrivileges || e.Network != "none" {
				t.Errorf("the record says %+v", e)
			}
			if _, err := os.Stat(granted + "/new"); err == nil {
				t.Error("what may be read was written")
			}
		})
	}
}

func TestContainmentWrite(t *testing.T) {
	t.Parallel()
	for _, level := range []paddock.Level{paddock.Full, paddock.Standard} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			dir := outside(t, "granted")
			w := contained(t, "{require: "+string(level)+", network: host, write: ["+dir+"]}")
			run := w.held(`echo written > ` + dir + `/new && cat ` + dir + `/file`)
			if got := w.text(run, Stdout); got != "granted\n" {
				t.Errorf("%q, %s", got, w.text(run, Stderr))
			}
			if text, err := os.ReadFile(dir + "/new"); string(text) != "written\n" {
				t.Errorf("what may be written has %q, %v", text, err)
			}
			if e := run.Enforced; e.Network != "host" || slices.Contains(e.Namespaces, "network") {
				t.Errorf("the record says %+v", e)
			}
		})
	}
}

// At full a run can't see the place where it is written down, nor the policy.
func TestFullHidesTheState(t *testing.T) {
	t.Parallel()
	w := contained(t, "{require: full}")
	run := w.held(`ls ` + w.state + ` ` + w.policy + `; ls -A ` + strings.TrimSuffix(w.state, "/state") + `; true`)
	if out := w.text(run, Stdout); strings.Contains(out, "policy") || strings.Contains(out, "runs") {
		t.Errorf("it sees %q", out)
	}
	if run.Enforced == nil || run.Enforced.Mounts != "private" {
		t.Errorf("the record says %+v", run.Enforced)
	}
}

// At full a run gets some terminals, and no run all that the machine has.
func TestFullBoundsTerminals(t *testing.T) {
	t.Parallel()
	w := contained(t, "{require: full}")
	run := w.held(`n() { [ $1 = 0 ] || (
		for fd in 3 4 5 6 7 8 9; do eval "command exec $fd<>/dev/ptmx" 2>/dev/null && echo x; done; n $(($1 - 1))); }; n 12`)
	if got := strings.Count(w.text(run, Stdout), "x"); got != 64 {
		t.Errorf("it opened %d terminals of 84; %s", got, w.text(run, Stderr))
	}
}

// outside makes a directory that is no part of any workspace, and not in /tmp,
// which every program may write at standard.
func outside(t *testing.T, content string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "paddock-test-")
	if err != nil {
		home, herr := os.UserHomeDir()
		must(t, herr)
		if dir, err = os.MkdirTemp(home, "paddock-test-"); err != nil {
			testproc.Skip(t, "there is no place outside /tmp that this user may write")
		}
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.WriteFile(dir+"/file", []byte(content+"\n"), 0o644))
	if os.Geteuid() == 0 { // then it is not for want of rights that it is kept
		must(t, errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, testproc.Nobody, testproc.Nobody)))
	}
	return dir
}
