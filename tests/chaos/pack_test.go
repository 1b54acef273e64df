//go:build linux

package chaos_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/failpoint"
	"paddock/internal/testproc"
)

// Whoever compresses output can be killed, or have its disk fail, at each step:
// every byte can be read afterwards, `verify` agrees, and whoever comes next does
// the rest and leaves nothing else.
func TestPackingThatIsCutShort(t *testing.T) {
	t.Parallel()
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, 1, "")
	bin := f.binaries("pack")
	var want bytes.Buffer
	for i := range 60_000 {
		fmt.Fprintln(&want, i+1)
	}
	plans := []string{"pack/written 1 kill", "pack/write 1 ENOSPC", "pack/rename 1 EIO", "pack/renamed 1 kill", "pack/placed 1 kill"}
	if os.Getenv("PADDOCK_CHAOS_RUNS") != "" {
		plans = append(plans, "pack/begun 1 kill", "pack/write 1 kill", "pack/write 1 EIO", "record/sync 1 EIO", "pack/synced 1 kill",
			"pack/rename 1 kill", "record/sync 2 kill", "pack/remove 1 EIO", "pack/removed 1 kill")
	}
	for _, plan := range plans {
		id := f.over("seq 1 60000")
		arm(t, filepath.Join(bin, "paddock"), plan+"\n")
		cmd := testproc.Command(t, filepath.Join(bin, "paddock"), "--state", f.state, "prune", "--compress", "zstd")
		text, err := cmd.CombinedOutput()
		if hit, hitErr := os.ReadFile(filepath.Join(bin, "paddock") + failpoint.HitSuffix); hitErr != nil || err == nil {
			t.Errorf("%s: %v, %s; hit %q, %v", plan, err, text, hit, hitErr)
		}
		must(t, remove(filepath.Join(bin, "paddock")+failpoint.HitSuffix))
		f.reads(plan, id, want.Bytes())
		if text, err := f.paddock("prune", "--compress", "zstd").CombinedOutput(); err != nil {
			t.Errorf("%s: %v, %s", plan, err, text)
		}
		f.reads(plan+", and again", id, want.Bytes())
		entries, err := filepath.Glob(filepath.Join(f.state, "runs/*", id, "*std*"))
		must(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, filepath.Base(e))
		}
		if got := strings.Join(names, " "); got != "stderr stdout.lines stdout.zst" {
			t.Errorf("%s: there are %s", plan, got)
		}
	}
	if out, err := f.paddock("audit", "verify").CombinedOutput(); err != nil {
		t.Errorf("audit verify: %v\n%s", err, out)
	}
	f.nothingLeft()
}

// reads looks at a run's output by new processes.
func (f *field) reads(when, id string, want []byte) {
	f.t.Helper()
	if got, err := f.paddock("logs", id).Output(); err != nil || !bytes.Equal(got, want) {
		f.t.Errorf("%s: %d bytes are read and not %d, %v", when, len(got), len(want), err)
	}
	if text, err := f.paddock("verify", id).CombinedOutput(); err != nil {
		f.t.Errorf("%s: verify: %v\n%s", when, err, text)
	}
}
