package executor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/testproc"
)

// Many starts in a row that fail, each with supervisors and much else made ahead, are as many
// runs that say so, and leave no descriptor, process, group or file. PADDOCK_LONG has it be
// thousands.
func TestFailedStartsLeaveNothing(t *testing.T) {
	t.Parallel()
	starts := 20
	if os.Getenv("PADDOCK_LONG") != "" {
		starts = 2500
	}
	asEach(t, func(t *testing.T) { tryFailing(t, starts) })
}

func tryFailing(t *testing.T, starts int) {
	for _, level := range []paddock.Level{paddock.Full, paddock.Off} {
		t.Run(string(level), func(t *testing.T) { // one after the other: all that is counted is this process's
			a := (&theater{}).act(t, level, "", "root")
			broken := filepath.Join(a.dir, "broken")
			must(t, os.WriteFile(broken, []byte("\x7fELF and nothing that a kernel executes"), 0o755))
			a.policy = strings.NewReplacer(testproc.Program(t, "escapist"), broken, "name: escapist", "name: broken").Replace(a.policy)
			f := open(t, func(c *Config) {
				c.Policy, c.Warm, c.Stage = PolicyText("policy.yaml", []byte(a.policy)), 1, os.Getenv(stageVariable)
			})
			var ids []string
			fail := func() {
				run, err := f.e.Start(t.Context(), a.request("root", "broken"))
				if err != nil {
					t.Fatal(err)
				}
				if run.State != paddock.FailedToStart || run.Outcome.Reason.Step != "exec" || run.StartedAt != nil {
					t.Fatalf("%s %+v", run.State, run.Outcome)
				}
				ids = append(ids, string(run.ID))
			}
			for range 5 {
				fail()
			}
			left(t, f.e.state.Path())
			before := descriptors(t)
			for range starts {
				fail()
			}
			left(t, f.e.state.Path())
			if after := descriptors(t); after > before+8 { // supervisors that come and go
				t.Errorf("%d descriptors, and %d before", after, before)
			}
			groups, err := lifecycle.Groups()
			must(t, err)
			for _, id := range ids {
				if slices.Contains(groups, id) {
					t.Errorf("the group of %s is left", id)
				}
			}
			entries, err := os.ReadDir(filepath.Join(a.dir, "root"))
			if err != nil || len(entries) > 0 {
				t.Errorf("in the workspace: %v, %v", entries, err)
			}
			runs, err := filepath.Glob(filepath.Join(f.e.state.Path(), "runs", "*", "*", "outcome.json"))
			if err != nil || len(runs) != len(ids) {
				t.Errorf("%d runs have an outcome, of %d; %v", len(runs), len(ids), err)
			}
			for _, sub := range []string{"tmp", "active"} {
				if entries, err := os.ReadDir(filepath.Join(f.e.state.Path(), sub)); err == nil && len(entries) > 8 {
					t.Errorf("%d are left in %s", len(entries), sub)
				}
			}
			must(t, f.e.Close())
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for late := time.After(time.Minute); len(childrenOf(os.Getpid())) > 0; { // they are reaped beside
				select {
				case <-tick.C:
				case <-late:
					t.Fatalf("processes are left: %v", childrenOf(os.Getpid()))
				}
			}
		})
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}
