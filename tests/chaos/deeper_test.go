//go:build linux

package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"paddock"
	"paddock/internal/testproc"
)

// A supervisor that is ended while it looks, or moves what it found, loses nothing:
// each thing is in the root or in the quarantine, and the record tells of it.
func TestCrashWhileLookingDeeper(t *testing.T) {
	t.Parallel()
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, 2, "")
	bin := f.binaries("deeper")
	for n, try := range []struct {
		plan  string
		moved int // at the least
		lost  bool
	}{
		{"deeper/look 1", 0, true}, {"deeper/looked 1", 0, true}, {"deeper/listed 1", 3, true}, {"deeper/moved 1", 3, true}, {"deeper/moved 2", 3, true},
		{"deeper/moved 3", 3, true}, {"outcome/publish 1", 3, true}, {"outcome/published 1", 3, false}, {"outcome/told 1", 3, false},
	} {
		arm(t, filepath.Join(bin, "paddock-stage"), try.plan+" kill\n")
		paths := []string{fmt.Sprintf("%d/.envrc", n), fmt.Sprintf("%d/a/.mcp.json", n), fmt.Sprintf("%d/a/.claude", n)}
		cmd := testproc.Command(t, filepath.Join(bin, "paddock"), "run", "--state", f.state, "--policy", f.policies[paddock.Off], "--", "sh", "-c",
			fmt.Sprintf("mkdir -p %d/a/.claude; echo x > %s; echo x > %s; echo x > %s/x", n, paths[0], paths[1], paths[2]))
		cmd.Dir = f.root
		out, err := cmd.CombinedOutput()
		if try.lost && err == nil {
			t.Fatalf("%s: it wasn't ended: %s", try.plan, out)
		}
		run := f.list("--all")[0]
		if o := run.Outcome; o == nil || o.Deeper == nil || (o.State == paddock.Lost) != try.lost || o.Deeper.Unlooked != "" {
			t.Fatalf("%s: %+v", try.plan, run)
		}
		f.quarantined(run, paths, try.plan, try.moved)
		if left, err := filepath.Glob(filepath.Join(f.state, "runs/*", string(run.ID), "before.json")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %q, %v", try.plan, left, err)
		}
		must(t, os.RemoveAll(filepath.Join(f.root, strconv.Itoa(n))))
	}
	f.nothingLeft()
}

// quarantined checks that each of the paths is in one place, and which the record says.
func (f *field) quarantined(run paddock.Run, paths []string, plan string, least int) {
	f.t.Helper()
	found, moved := map[string]paddock.Found{}, 0
	for _, place := range run.Outcome.Deeper.Found {
		found[place.Path] = place
	}
	for i, path := range paths {
		place, told := found[path]
		_, err := os.Lstat(filepath.Join(f.root, path))
		if !told || (err == nil) == place.Quarantined || !place.Quarantined && place.Why == "" {
			f.t.Errorf("%s: %d %s: %+v, in the root: %v", plan, i, path, place, err)
		}
		if place.Quarantined {
			moved++
		}
	}
	kept, err := filepath.Glob(filepath.Join(f.state, "runs/*", string(run.ID), "quarantine/[0-9]"))
	if err != nil || len(kept) != moved || moved < least {
		f.t.Errorf("%s: %d are kept, %d are said to be, %v", plan, len(kept), moved, err)
	}
}
