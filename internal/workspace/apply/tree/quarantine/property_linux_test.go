package quarantine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// A forest is what a root has: of each path the inode, and when that was made.
type forest map[string][2]int64

func forestOf(t rapid.TB, root string) forest {
	all := forest{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		var st unix.Statx_t
		err = unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_INO, &st)
		all[strings.TrimPrefix(path, root+"/")] = [2]int64{int64(st.Ino), st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f forest) has(inode [2]int64) bool {
	for _, i := range f {
		if i == inode {
			return true
		}
	}
	return false
}

// protected reports whether a path is a place, or lies in one.
func protected(path string) bool {
	for word := range strings.SplitSeq(path, "/") {
		if word == ".envrc" || word == ".claude" {
			return true
		}
	}
	return false
}

// Whatever a run does to its root: no protected place is left that wasn't there
// before, nothing else is touched, and what is told is so.
func TestWhateverARunDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, err := os.MkdirTemp("", "paddock-test-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(base)
		root, run := base+"/root", base+"/run"
		if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(run, 0o700)); err != nil {
			t.Fatal(err)
		}
		word := rapid.SampledFrom([]string{"a", "b", ".envrc", ".claude"})
		path := func() string { return root + "/" + strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "path"), "/") }
		act := func() { // what can't be done isn't
			switch rapid.IntRange(0, 5).Draw(t, "act") {
			case 0:
				_ = os.Mkdir(path(), 0o755)
			case 1, 2:
				_ = os.WriteFile(path(), []byte("x"), 0o644)
			case 3:
				_ = os.Rename(path(), path())
			case 4:
				_ = os.RemoveAll(path())
			case 5:
				_ = os.Symlink(path(), path())
			}
		}
		for range rapid.IntRange(0, 12).Draw(t, "before") {
			act()
		}
		before := forestOf(t, root)
		w, err := Begin(Options{Root: root, RunDir: run, Judge: judge, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for range rapid.IntRange(0, 12).Draw(t, "during") {
			act()
		}
		during := forestOf(t, root)
		d := w.End(0)
		after := forestOf(t, root)
		for path, inode := range after {
			if _, was := before[path]; protected(path) && !was && !before.has(inode) {
				t.Errorf("%s is still there; %+v", path, d)
			}
		}
		for path := range during {
			if _, is := after[path]; !is && !protected(path) {
				t.Errorf("%s is gone", path)
			}
		}
		for _, f := range d.Found {
			if _, is := after[f.Path]; is == f.Quarantined || !protected(f.Path) {
				t.Errorf("%+v isn't so", f)
			}
		}
	})
}
