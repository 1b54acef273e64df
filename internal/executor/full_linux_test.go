package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/rundir"
	"paddock/internal/testproc"
)

// Wherever the disk of the state directory is full, from the first that is written of a run
// to its outcome: no program runs without a record of that, and what is recorded comes to an end.
func TestNoRunIsUnrecordedOnAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can mount a small disk")
	}
	const page, size = 4 << 10, 4 << 20
	disk := t.TempDir()
	if err := unix.Mount("paddock-test", disk, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size)); err != nil {
		testproc.Skip(t, "a small disk can't be mounted: "+err.Error())
	}
	t.Cleanup(func() { must(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	var root string
	f := open(t, func(c *Config) {
		root = filepath.Dir(c.State)
		c.State, c.Warm, c.Warn = filepath.Join(disk, "state"), 1, func(error) {}
		c.Policy = PolicyText("policy.yaml", []byte(strings.Replace(strings.ReplaceAll(permissive, "ROOT", root), "containment:", "limits: {reserve: 1}\ncontainment:", 1)))
	})
	ballast, err := os.Create(filepath.Join(disk, "ballast"))
	must(t, err)
	defer ballast.Close()
	ran, recorded, states := 0, 0, map[paddock.State]int{}
	for pages := range 60 {
		var st unix.Statfs_t
		must(t, ballast.Truncate(0))
		must(t, unix.Statfs(disk, &st))
		fill := int64(st.Bavail)*st.Bsize - int64(pages)*page
		if err := unix.Fallocate(int(ballast.Fd()), 0, 0, max(fill, page)); err != nil && !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		proof := filepath.Join(root, fmt.Sprint("proof", pages))
		run, err := f.e.Start(t.Context(), request("echo ran > "+proof))
		if run.ID != "" && err == nil {
			run, err = f.e.Wait(t.Context(), run.ID)
		}
		_, missing := os.Lstat(proof)
		switch proved := missing == nil; {
		case err != nil && proved:
			t.Errorf("with %d pages: %v, and the program ran", pages, err)
		case err != nil:
		case !run.State.Settled():
			t.Errorf("with %d pages: it was waited for, and is %s", pages, run.State)
		case proved && run.State == paddock.FailedToStart:
			t.Errorf("with %d pages: %s %+v, and the program ran", pages, run.State, run.Outcome)
		case !proved && run.State == paddock.Exited && *run.Outcome.Reason.ExitCode == 0:
			t.Errorf("with %d pages: it ran and left nothing: %+v", pages, run.Outcome)
		}
		if err == nil {
			recorded++
			states[run.State]++
		}
		if missing == nil {
			ran++
		}
	}
	must(t, ballast.Truncate(0))
	t.Logf("%d ran, %d recorded: %v", ran, recorded, states)
	if ran == 0 || recorded == 60 {
		t.Errorf("%d of 60 are recorded, and %d ran: the disk wasn't full, or always", recorded, ran)
	}
	left(t, f.e.state.Path())
	_, err = f.e.state.Reconcile(t.Context(), time.Now)
	must(t, err)
	open, _, err := f.e.ListActive(t.Context(), "", 100, rundir.Wanted{})
	if err != nil || len(open) > 0 {
		t.Errorf("with nothing behind them: %+v, %v", open, err)
	}
}
