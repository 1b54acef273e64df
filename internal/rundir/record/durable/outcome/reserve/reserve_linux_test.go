package reserve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

// What is taken is room that others don't get, once, and what is given back can be given
// back again.
func TestTakeAndFree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		if err := Take(dir); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, Name), &st); err != nil || st.Blocks*512 < size || st.Mode != unix.S_IFREG|0o600 {
			t.Errorf("%+v, %v", st, err)
		}
		if err := Take(dir); !errors.Is(err, fs.ErrExist) {
			t.Errorf("it was taken twice: %v", err)
		}
		for range 2 {
			if err := Free(dir); err != nil {
				t.Error(err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	}
}

// Where there is no room nothing is left, also where zeros are written.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("paddock-test", dir, "tmpfs", 0, "size=32k"); err != nil {
		testproc.Skip(t, "a small disk can't be mounted: "+err.Error())
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := Take(dir); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a disk of half the size had room: %v", err)
	}
	f, err := os.Create(filepath.Join(dir, "zeros"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := zeros(f, size); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("zeros: %v", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
