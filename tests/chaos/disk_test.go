//go:build linux

package chaos_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
)

// A disk that fills up under runs ends them with a reason, refuses others, and
// harms no record; with room again everything goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can mount a small disk")
	}
	disk := filepath.Join(t.TempDir(), "disk")
	must(t, os.Mkdir(disk, 0o755))
	if err := unix.Mount("paddock-chaos", disk, "tmpfs", 0, "size=3m,mode=755"); err != nil {
		testproc.Skip(t, "a small disk can't be mounted: "+err.Error())
	}
	t.Cleanup(func() { must(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	testproc.BuildTo(t, "failing", "paddock/cmd/paddock-stage", "failpoints") // beside the other
	f := newField(t, 1, filepath.Join(disk, "state"))
	var shots []*shot
	for i := range 4 {
		s := newShot(f, i, f.binaries(string(rune('a'+i))))
		s.door, s.kind, s.attack, s.plan, s.key, s.twins, s.lines = "detached", "big", "full disk", "", "", 1, 200
		s.ask()
		shots = append(shots, s)
	}
	f.settle()
	reasons := map[paddock.ReasonKind]int{}
	refused := 0
	for _, run := range f.list("--all") {
		reasons[run.Outcome.Reason.Kind]++
	}
	for _, s := range shots {
		if len(s.said) > 0 && (strings.Contains(s.said[0], "no space left on device") || strings.Contains(s.said[0], "kept in reserve")) {
			refused++
		}
	}
	if reasons[paddock.ReasonDiskReserve]+reasons[paddock.ReasonSink]+reasons[paddock.ReasonStart]+refused == 0 || reasons[paddock.ReasonLost] > 0 {
		t.Errorf("ended by %v, %d refused for want of room", reasons, refused)
	}
	kept, err := filepath.Glob(filepath.Join(f.state, "runs/*/*/stdout"))
	must(t, err)
	f.shots = shots
	f.check()
	t.Logf("ended by %v, %d refused", reasons, refused)
	for _, name := range kept[:1] { // room again
		must(t, errors.Join(os.Truncate(name, 0), os.Remove(name)))
	}
	if out, err := f.paddock("run", "--", "sh", "-c", "echo there is room").CombinedOutput(); err != nil || string(out) != "there is room\n" {
		t.Errorf("with room again: %v, %s", err, out)
	}
	if out, err := f.paddock("audit", "verify").CombinedOutput(); err != nil {
		t.Errorf("audit verify: %v\n%s", err, out)
	}
	f.nothingLeft()
}
