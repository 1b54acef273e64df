//go:build linux

package chaos_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

// A supervisor that finds its run called lost tells what it knows, and can be killed at
// each step of it: the run stays lost, what is kept of its real end is told once, and
// nobody has to ask for that.
func TestCrashWhileTellingLater(t *testing.T) {
	t.Parallel()
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, 4, "")
	bin := f.binaries("later")
	for _, try := range []struct {
		point string
		told  int // how many later ends are known afterwards
	}{{"addendum/looked", 0}, {"addendum/kept", 1}, {"addendum/told", 1}} {
		gate := filepath.Join(f.root, "starts", strings.ReplaceAll(try.point, "/", "-"))
		arm(t, filepath.Join(bin, "paddock-stage"), try.point+" 1 kill\n")
		cmd := testproc.Command(t, filepath.Join(bin, "paddock"), "run", "--state", f.state, "--policy", f.policies[paddock.Off], "-d", "--",
			"sh", "-c", "until [ -e "+gate+" ]; do sleep 0.01; done; exit 3")
		cmd.Dir = f.root
		out, err := cmd.Output()
		must(t, err)
		id := paddock.RunID(strings.TrimSpace(string(out)))
		dir, err := rundir.OpenRun(filepath.Dir(f.file(paddock.Run{ID: id}, "outcome.json")))
		must(t, err)
		// As if somebody had been sure that its supervisor was gone.
		now := time.Now()
		lost := paddock.Outcome{State: paddock.Lost, EndedAt: now, SettledAt: now, Reason: paddock.Reason{Kind: paddock.ReasonLost, Evidence: &paddock.Evidence{SeenAt: now, Note: "a test says so"}}}
		if first, err := dir.PublishOutcome(lost); err != nil || !first {
			t.Fatalf("%s: it had ended before: %v", try.point, err)
		}
		must(t, os.WriteFile(gate, nil, 0o600))
		f.until(try.point+" is reached", func() string {
			hit, err := os.ReadFile(filepath.Join(bin, "paddock-stage"+failpoint.HitSuffix))
			if err != nil {
				return err.Error()
			}
			return strings.TrimSuffix(string(hit), try.point+" kill\n")
		})
		must(t, remove(filepath.Join(bin, "paddock-stage"+failpoint.HitSuffix)))
		must(t, testproc.Unlocked(filepath.Join(dir.Path(), "lock")))
		for range 2 { // whoever comes next tells it, and the one after that nothing more
			f.list("--all")
		}
		f.toldLater(try.point, id, try.told)
	}
	f.sound()
	f.nothingLeft()
}

// toldLater checks what the record and the journal say of a lost run's real end.
func (f *field) toldLater(when string, id paddock.RunID, want int) {
	f.t.Helper()
	out, err := f.paddock("show", "--json", string(id)).Output()
	must(f.t, err)
	var all struct {
		Run struct {
			State   paddock.State      `json:"state"`
			Addenda []paddock.Addendum `json:"addenda"`
		} `json:"run"`
	}
	must(f.t, json.Unmarshal(out, &all))
	if run := all.Run; run.State != paddock.Lost || len(run.Addenda) != want || want > 0 && run.Addenda[0].Outcome.State != paddock.Exited {
		f.t.Errorf("%s: it is %s, and later %+v", when, run.State, run.Addenda)
	}
	for kind, want := range map[string]int{"end": 1, "addendum": want} {
		out, err := f.paddock("audit", "list", "--json", "--run", string(id), "--kind", kind).Output()
		if n := strings.Count(string(out), `"kind":"`+kind+`"`); err != nil || n != want {
			f.t.Errorf("%s: the journal has %d entries %s, %v\n%s", when, n, kind, err, out)
		}
	}
}

// sound checks everything that can be compared with something else. Who is ended while
// output is kept may leave fewer marks of its lines than there could be, which readers
// do without and a rebuild makes again; nothing else may be odd.
func (f *field) sound() {
	f.t.Helper()
	if out, err := f.paddock("audit", "verify").CombinedOutput(); err != nil {
		f.t.Errorf("audit verify: %v\n%s", err, out)
	}
	out, err := f.paddock("state", "check", "--digests", "--json").Output()
	var odd struct {
		Found []struct{ Kind, Path, Detail string } `json:"found"`
	}
	if jsonErr := json.Unmarshal(out, &odd); jsonErr != nil || (err == nil) != (len(odd.Found) == 0) {
		f.t.Fatalf("state check: %v, %v: %s", err, jsonErr, out)
	}
	for _, one := range odd.Found {
		if one.Kind != "marks" {
			f.t.Errorf("state check: %+v", one)
		}
	}
	if len(odd.Found) == 0 {
		return
	}
	for _, args := range [][]string{{"state", "rebuild"}, {"state", "check", "--digests"}} {
		if out, err := f.paddock(args...).CombinedOutput(); err != nil {
			f.t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
