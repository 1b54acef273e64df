//go:build linux

package retain

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/journal"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
)

// A disk that is full can be pruned, once there was room for the reserve.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h := open(t)
	d := h.ended(0, 5)
	tell := h.Tell
	h.Tell = func(ctx context.Context, e journal.Entry) error {
		if _, err := os.Lstat(h.reserved()); err == nil {
			return &os.PathError{Op: "write", Path: "journal", Err: syscall.ENOSPC}
		}
		return tell(ctx, e)
	}
	must(t, h.Reserve())
	if info, err := os.Lstat(h.reserved()); err != nil || info.Size() != reserveSize {
		t.Fatalf("%v, %v", info, err)
	}
	if h.pass(t, Limits{Age: time.Hour}); h.left(d) != "r" {
		t.Error("nothing was removed")
	}
	must(t, h.Reserve())
	must(t, h.Reserve()) // and is kept
	// What isn't for want of room doesn't take it.
	broken := errors.New("broken")
	if err := h.withReserve(func() error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := os.Lstat(h.reserved()); err != nil {
		t.Error(err)
	}
	must(t, os.Remove(h.reserved()))
	if err := h.withReserve(func() error { return syscall.ENOSPC }); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

// The same with a real disk, where the tests may mount one.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=2m,mode=0700"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	k, err := keeper(dir + "/state")
	t.Cleanup(func() { must(t, errors.Join(k.State.Close(), unix.Unmount(dir, unix.MNT_DETACH))) })
	must(t, err)
	n, err := writer.Open(journal.Dir(k.State.Path()), writer.Options{Now: k.Now})
	must(t, err)
	k.Tell = func(ctx context.Context, e journal.Entry) error { return n.Append(ctx, e) }
	h := &house{Keeper: k, t: t, keys: map[int]bool{}}
	must(t, h.Reserve())
	var dirs []*rundir.Dir
	for i := range 3 {
		dirs = append(dirs, h.ended(i, 100_000))
	}
	fill, err := os.Create(dir + "/fill")
	must(t, err)
	for err == nil {
		_, err = fill.Write(make([]byte, 4096))
	}
	if must(t, fill.Close()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	h.pass(t, Limits{Runs: 1})
	if got := h.left(dirs...); got != "rro" {
		t.Errorf("left %s", got)
	}
	if r, err := dirs[0].Record(h.Now()); err != nil || r.Pruned.Reason != paddock.PruneRuns {
		t.Errorf("%+v, %v", r.Pruned, err)
	}
	must(t, n.Close())
}
