//go:build linux

package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/testproc"
)

// Whoever removes what is old, or counts what was used, can be killed at each step: a
// run is there whole, or without its output and says so, or gone, and what is counted
// is what the runs say.
func TestCrashWhilePruning(t *testing.T) {
	t.Parallel()
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, 5, "")
	bin := f.binaries("prune")
	text, err := os.ReadFile(f.policies[paddock.Off])
	must(t, err)
	must(t, os.WriteFile(f.policies[paddock.Off], append(text, "quotas: {total: {runs_per_day: 100000}}\n"...), 0o600))
	run, output, records := []string{"run", "-d", "--", "sh", "-c", "echo more"}, []string{"prune", "--age", "1ms"}, []string{"prune", "--records", "1ms"}
	tries := []struct {
		point string
		args  []string
	}{
		{"prune/marked", output}, {"books/leaving", output}, {"books/left-principal", output},
		{"claim/gone", records}, {"books/unsummed", records},
		{"books/noted-principal", run}, {"books/made-principal", run},
	}
	if os.Getenv("PADDOCK_CHAOS_RUNS") != "" {
		tries = append(tries, []struct {
			point string
			args  []string
		}{
			{"prune/told", output}, {"prune/removed-stdout", output}, {"prune/removed-quarantine", output}, {"books/leaving-principal", output}, {"books/leaving-total", output},
			{"books/left", output}, {"books/left-total", output},
			{"prune/told", records}, {"claim/unseen", records}, {"claim/forgotten", records}, {"books/leaving", records}, {"books/left", records}, {"books/left-principal", records},
			{"books/noted-total", run}, {"books/counted-principal", run}, {"books/counted-total", run}, {"books/unmade", run}, {"books/made-total", run},
		}...)
	}
	for _, try := range tries {
		id := f.over("mkdir -p starts/deep; echo x > starts/deep/.envrc; echo one") // which is put into quarantine
		if strings.Contains(try.point, "made") {
			must(t, os.Remove(filepath.Join(f.state, "usage", "total.json")))
		}
		arm(t, filepath.Join(bin, "paddock"), try.point+" 1 kill\n")
		cmd := testproc.Command(t, filepath.Join(bin, "paddock"), append([]string{"--state", f.state, "--policy", f.policies[paddock.Off]}, try.args...)...)
		cmd.Dir = f.root
		said, err := cmd.CombinedOutput()
		if hit, hitErr := os.ReadFile(filepath.Join(bin, "paddock") + failpoint.HitSuffix); hitErr != nil || err == nil {
			t.Errorf("%s of %s: %v, %s; hit %q, %v", try.point, try.args[0], err, said, hit, hitErr)
		}
		must(t, remove(filepath.Join(bin, "paddock")+failpoint.HitSuffix))
		f.prunedOrNot(fmt.Sprint(try.point, " of ", try.args), id)
		f.over("echo whoever comes next")
		if said, err := f.paddock(try.args...).CombinedOutput(); err != nil {
			t.Errorf("%s of %s: again: %v, %s", try.point, try.args, err, said)
		}
		f.settle()
		f.sound()
	}
	f.nothingLeft()
}

// prunedOrNot reads a run's output by a new process: it is all there, or said to be
// gone, or the run is.
func (f *field) prunedOrNot(when, id string) {
	f.t.Helper()
	cmd := f.paddock("logs", id)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	whole := err == nil && string(out) == "one\n"
	gone := err != nil && len(out) == 0 && (strings.Contains(errs.String(), "refused: pruned") || strings.Contains(errs.String(), "refused: not_found"))
	if !whole && !gone {
		f.t.Errorf("%s: it reads %q and %q, %v", when, out, errs.String(), err)
	}
}
