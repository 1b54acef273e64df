//go:build linux

package chaos_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"paddock"
	"paddock/internal/contain/lifecycle"
	"paddock/internal/failpoint"
	"paddock/internal/testproc"
)

// A caller and its supervisor are both ended before their run is there. Whoever uses the
// state directory next takes away what was made ready for it, and nothing else.
func TestARunThatNeverCameToBeLeavesNothing(t *testing.T) {
	t.Parallel()
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, 1, "")
	if !slices.Contains(f.levels, paddock.Full) {
		testproc.Skip(t, "nothing is put into a workspace here")
	}
	for _, point := range []string{"handover/readied", "claim/wrote-request.json", "claim/linked-1-of-2"} {
		bin := f.binaries(filepath.Base(point))
		arm(t, filepath.Join(bin, "paddock"), point+" 1 kill\n")
		arm(t, filepath.Join(bin, "paddock-stage"), "ready/made 1 kill\n")
		cmd := testproc.Command(t, filepath.Join(bin, "paddock"), "--state", f.state, "--policy", f.policies[paddock.Full], "run", "--", "sh", "-c", "exit 0")
		cmd.Dir = f.root
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Fatalf("%s: %s", point, out)
		}
		hit := func() bool {
			_, err := os.Stat(filepath.Join(bin, "paddock-stage") + failpoint.HitSuffix)
			return err == nil
		}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !hit() {
			select {
			case <-tick.C:
			case <-t.Context().Done():
				t.Fatal("the supervisor isn't ended")
			}
		}
		unborn, err := os.ReadDir(filepath.Join(f.state, "tmp"))
		must(t, err)
		if len(unborn) == 0 || len(f.inRoot()) < 2 {
			t.Fatalf("%s: nothing is left to take away: %v, %q", point, unborn, f.inRoot())
		}
		made := unborn
		// The supervisor may be on its way out still, and has the lock until it is gone.
		for len(unborn) > 0 {
			must(t, f.paddock("ps").Run())
			unborn, err = os.ReadDir(filepath.Join(f.state, "tmp"))
			must(t, err)
		}
		if left := f.inRoot(); !slices.Equal(left, []string{"starts"}) {
			t.Errorf("%s: left %q", point, left)
		}
		groups, err := lifecycle.Groups()
		must(t, err)
		for _, e := range made {
			if slices.Contains(groups, e.Name()) {
				t.Errorf("%s: %s has a cgroup", point, e.Name())
			}
		}
	}
}

// inRoot lists what is in the workspace.
func (f *field) inRoot() (names []string) {
	entries, err := os.ReadDir(f.root)
	must(f.t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
