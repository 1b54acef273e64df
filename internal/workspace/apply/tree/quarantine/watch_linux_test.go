package quarantine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock"
	"paddock/internal/testproc"
	"paddock/internal/workspace/apply/tree/quarantine/look"
)

func TestMain(m *testing.M) { testproc.Main(m, map[string]func() int{"looker": looker}) }

const inProcess = "PADDOCK_TEST_QUARANTINE"

// Everything holds for root and for an ordinary user.
func TestWatch(t *testing.T) {
	t.Parallel()
	tries := map[string]func(*testing.T){
		"found": tryFound, "hidden": tryHidden, "moved along": tryMovedAlong, "deep": tryDeep, "links": tryLinks, "names": tryNames,
		"bounds": tryBounds, "report": tryReport, "except": tryExcept, "ours": tryOurs, "restore": tryRestore, "blind": tryBlind,
		"lost": tryLost, "half moved": tryHalfMoved, "another file system": tryAcross, "changed meanwhile": tryChangedMeanwhile,
	}
	for name, try := range tries {
		t.Run(name, func(t *testing.T) { t.Parallel(); try(t) })
	}
	if os.Getenv(inProcess) != "" || os.Geteuid() != 0 {
		return
	}
	base := t.TempDir()
	must(t, os.Chown(base, testproc.Nobody, testproc.Nobody))
	for up := base; up != os.TempDir() && len(up) > 1; up = filepath.Dir(up) {
		must(t, os.Chmod(up, 0o755))
	}
	cmd := testproc.Self(t, "-test.run=^TestWatch$", "-test.timeout=3m")
	testproc.AsUser(t, cmd, testproc.Nobody)
	cmd.Dir, cmd.Env = base, append(os.Environ(), "TMPDIR="+base, inProcess+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A scene is a root with something in it, and a run's directory.
type scene struct {
	t         *testing.T
	root, run string
	opt       Options
}

func newScene(t *testing.T, existing ...string) *scene {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	s := &scene{t: t, root: base + "/root", run: base + "/run"}
	must(t, errors.Join(os.Mkdir(s.root, 0o755), os.Mkdir(s.run, 0o700)))
	s.opt = Options{Root: s.root, RunDir: s.run, Judge: judge, Now: time.Now}
	s.write(existing...)
	t.Cleanup(func() { // what keeps its owner out must not stay
		_ = filepath.WalkDir(base, func(path string, d os.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	return s
}

// judge knows two names, in the way that the real ones are known.
func judge(at uint8, name string, _ bool) (match bool, inside uint8, leaf bool) {
	switch {
	case at == 1, name == ".envrc", name == ".claude":
		return true, 1, false
	case name == "leaf":
		return false, 0, true
	}
	return false, 0, false
}

// write makes files, and directories of names that end in a slash.
func (s *scene) write(names ...string) {
	s.t.Helper()
	for _, name := range names {
		path := filepath.Join(s.root, name)
		must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			must(s.t, os.MkdirAll(path, 0o755))
		} else {
			must(s.t, os.WriteFile(path, []byte("of "+name), 0o640))
		}
	}
}

func (s *scene) begin() *Watch {
	s.t.Helper()
	w, err := Begin(s.opt)
	must(s.t, err)
	s.t.Cleanup(func() { _ = w.Close() })
	return w
}

// during returns what is found of what act does.
func (s *scene) during(act func()) *paddock.Deeper {
	s.t.Helper()
	w := s.begin()
	act()
	return w.End(0)
}

// said is what was found in few words.
func said(d *paddock.Deeper) string {
	var all []string
	for _, f := range d.Found {
		word := string(f.Change)
		if f.Quarantined {
			word = "moved"
		}
		all = append(all, f.Path+" "+word)
	}
	slices.Sort(all)
	if d.Unlooked != "" {
		all = append(all, "not all looked at")
	}
	return strings.Join(all, ", ")
}

func want(t *testing.T, d *paddock.Deeper, text string) {
	t.Helper()
	if got := said(d); got != text {
		t.Errorf("found %s (%s)\nwant %s", got, d.Unlooked, text)
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func tryFound(t *testing.T) {
	s := newScene(t, "old/.envrc", "old/.claude/a", "old/.claude/b", "same/.envrc", "replaced/.envrc", "other/x", "leaf/y")
	d := s.during(func() {
		s.write(".envrc", "a/b/.envrc", "new/.claude/settings.json", "new/.claude/more/x", "old/.claude/c", "other/x", "leaf/.envrc", "old/.envrc")
		must(t, os.WriteFile(s.root+"/old/.claude/a", []byte("others"), 0o640))
		must(t, os.WriteFile(s.root+"/new/plain", []byte("others"), 0o640))
		must(t, os.Rename(s.root+"/new/plain", s.root+"/replaced/.envrc"))
		must(t, os.Rename(s.root+"/other/x", s.root+"/other/.envrc")) // older than the run, by another name
	})
	want(t, d, ".envrc moved, a/b/.envrc moved, new/.claude moved, old/.claude/a changed, old/.claude/c moved, old/.envrc changed, other/.envrc moved, replaced/.envrc changed")
	for _, gone := range []string{".envrc", "a/b/.envrc", "new/.claude", "old/.claude/c", "other/.envrc"} {
		if there(filepath.Join(s.root, gone)) {
			t.Errorf("%s is still there", gone)
		}
	}
	for _, f := range d.Found {
		if f.Quarantined != (f.Why == "") || f.Kind == "file" && (f.Digest == "" || f.Mode != "0640") {
			t.Errorf("%+v", f)
		}
	}
	if !strings.Contains(d.Found[0].Path, "old/") && !strings.Contains(d.Found[0].Path, "replaced/") {
		t.Errorf("what stayed isn't told first: %+v", d.Found)
	}
	k, err := Open(s.run)
	must(t, err)
	defer k.Close()
	for _, i := range k.Items() {
		if b, err := os.ReadFile(i.At); i.Kind == "file" && (err != nil || i.Path != "other/.envrc" && string(b) != "of "+i.Path) {
			t.Errorf("%+v: %q, %v", i, b, err)
		}
	}
}

// A run can keep the owner out of directories that tools of others get into.
func tryHidden(t *testing.T) {
	s := newScene(t, "before/x")
	must(t, os.Chmod(s.root+"/before", 0))
	modes := map[string]os.FileMode{"a": 0, "b": 0o311, "c": 0o555, "d/in": 0o100, "e": 0o500}
	d := s.during(func() {
		s.write("a/.envrc", "b/.envrc", "c/.envrc", "d/in/deep/.envrc", "e/.claude/x")
		must(t, os.Chmod(s.root+"/e/.claude", 0o500))
		for name, mode := range modes {
			must(t, os.Chmod(filepath.Join(s.root, name), mode))
		}
	})
	text := "a/.envrc moved, b/.envrc moved, c/.envrc moved, d/in/deep/.envrc moved, e/.claude moved"
	if os.Geteuid() != 0 {
		text += ", not all looked at" // before: it was so when the run began
		if !strings.HasPrefix(d.Unlooked, `"before": `) || strings.Contains(d.Unlooked, "further") {
			t.Error(d.Unlooked)
		}
	}
	want(t, d, text)
	for name, mode := range modes {
		if info, err := os.Stat(filepath.Join(s.root, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// What came along with its directory is what it was.
func tryMovedAlong(t *testing.T) {
	s := newScene(t, "a/b/.envrc", "a/.claude/x", "a/.claude/sub/y", "c/.envrc", "gone/.envrc")
	born := mark(t, s.root+"/c/.envrc").Born != 0
	d := s.during(func() {
		must(t, os.Rename(s.root+"/a", s.root+"/z"))
		must(t, os.Remove(s.root+"/gone/.envrc")) // its inode's number may be given to what comes next
		s.write("new/.envrc")
	})
	if born {
		want(t, d, "new/.envrc moved")
	}
	d = s.during(func() { must(t, os.Rename(s.root+"/c/.envrc", s.root+"/new/.envrc")) })
	if born {
		want(t, d, "new/.envrc changed")
	}
}

func mark(t *testing.T, path string) look.Mark {
	t.Helper()
	var st unix.Statx_t
	must(t, unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &st))
	return look.Mark{Born: st.Btime.Sec}
}

// A path that is longer than the kernel takes at once.
func tryDeep(t *testing.T) {
	s := newScene(t)
	name := strings.Repeat("d", 200)
	d := s.during(func() {
		at, err := unix.Open(s.root, unix.O_PATH|unix.O_DIRECTORY, 0)
		must(t, err)
		for range 40 {
			must(t, unix.Mkdirat(at, name, 0o755))
			next, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY, 0)
			must(t, errors.Join(err, unix.Close(at)))
			at = next
		}
		must(t, errors.Join(unix.Symlinkat("x", at, ".envrc"), unix.Close(at)))
	})
	path := strings.Repeat(name+"/", 40) + ".envrc"
	want(t, d, path+" moved")
	if done, err := restore(t, s, path); err != nil || len(done) != 1 {
		t.Errorf("%v, %v", done, err)
	}
	must(t, os.RemoveAll(s.root))
}

// Neither looking nor moving follows a link or leaves the root.
func tryLinks(t *testing.T) {
	s, outside := newScene(t), t.TempDir()
	must(t, os.WriteFile(outside+"/.envrc", []byte("another's"), 0o600))
	d := s.during(func() {
		must(t, os.Symlink(outside, s.root+"/out"))
		must(t, os.Symlink(outside, s.root+"/.claude"))
		must(t, os.Symlink("..", s.root+"/up"))
		must(t, unix.Mkfifo(s.root+"/.envrc", 0o644)) // whoever opens it would wait
	})
	want(t, d, ".claude moved, .envrc moved")
	if b, err := os.ReadFile(outside + "/.envrc"); err != nil || string(b) != "another's" {
		t.Errorf("%q, %v", b, err)
	}
	for _, f := range d.Found {
		if f.Kind == "link" && f.Target != outside {
			t.Errorf("%+v", f)
		}
	}
}

func tryNames(t *testing.T) {
	s := newScene(t)
	d := s.during(func() { s.write("a\nb/.envrc", "bad\xff/.envrc", "quote\"/.envrc") })
	want(t, d, `a`+"\n"+`b/.envrc moved, bad\xff/.envrc moved, quote"/.envrc moved`)
	if done, err := restore(t, s, `bad\xff/.envrc`); err != nil || len(done) != 1 || !there(s.root+"/bad\xff/.envrc") {
		t.Errorf("%v, %v", done, err)
	}
}

// The nearest to the top is looked at, and what is left is told. What nobody looked at
// before isn't called new.
func tryBounds(t *testing.T) {
	s := newScene(t)
	for i := range 30 {
		s.write(fmt.Sprintf("d%d/f", i))
	}
	s.opt.entries = 40
	d := s.during(func() { s.write(".envrc") })
	want(t, d, ".envrc moved, not all looked at")
	if !strings.Contains(d.Unlooked, "too much") || !strings.Contains(d.Unlooked, "further directories") || d.Looked < 40 || d.Looked > 41 {
		t.Errorf("%+v", d)
	}
	w := s.begin()
	w.opt.entries = 1000
	s.write("d1/.envrc", "d29/.envrc")
	counts := map[paddock.FoundChange]int{}
	for _, f := range w.End(0).Found {
		if counts[f.Change]++; f.Quarantined == (f.Change == paddock.FoundUnknown) {
			t.Errorf("%+v", f)
		}
	}
	if counts[paddock.FoundUnknown] == 0 {
		t.Errorf("%v", counts)
	}
	late := false
	s.opt.Now = func() time.Time {
		defer func() { late = true }()
		if late {
			return time.Unix(1000, 0)
		}
		return time.Unix(0, 0)
	}
	if d := s.during(func() { late = false }); !strings.Contains(d.Unlooked, "too much") || d.Looked > 1000 {
		t.Errorf("%+v", d)
	}
	if d := (&Watch{}).End(0); d == nil {
		t.Error("nothing is told")
	}
}

func tryReport(t *testing.T) {
	s := newScene(t)
	s.opt.Report = true
	want(t, s.during(func() { s.write("a/.envrc") }), "a/.envrc appeared")
	if !there(s.root+"/a/.envrc") || there(Dir(s.run)) {
		t.Error("it was moved")
	}
	if _, err := Open(s.run); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func tryExcept(t *testing.T) {
	s := newScene(t)
	s.opt.Except = []string{"a", "b/.envrc"}
	want(t, s.during(func() { s.write("a/.envrc", "a/deep/.envrc", "b/.envrc", "ab/.envrc", "b/c/.envrc") }), "ab/.envrc moved, b/c/.envrc moved")
}

// A place that another run holds isn't taken from it, but what is in it is.
func tryOurs(t *testing.T) {
	s := newScene(t)
	s.opt.Ours = func(path string, dir bool, written int64) bool { return path == ".envrc" && dir && written == 0 }
	d := s.during(func() {
		s.write(".envrc/", ".claude/")
		must(t, os.Chtimes(s.root+"/.envrc", time.Unix(0, 0), time.Unix(0, 0)))
	})
	want(t, d, ".claude moved")
	again := newScene(t)
	again.opt.Ours = s.opt.Ours
	s = again
	d = s.during(func() {
		s.write(".envrc/x")
		must(t, os.Chtimes(s.root+"/.envrc", time.Unix(0, 0), time.Unix(0, 0)))
	})
	want(t, d, ".envrc/x moved")
}

func restore(t *testing.T, s *scene, paths ...string) ([]string, error) {
	t.Helper()
	k, err := Open(s.run)
	must(t, err)
	defer k.Close()
	return k.Restore(paths, func() error { return nil })
}

func code(err error) paddock.Code {
	var r *paddock.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func tryRestore(t *testing.T) {
	s, outside := newScene(t), t.TempDir()
	s.during(func() {
		s.write("a/.envrc", "b/.claude/x", "c/.envrc", "d/.envrc", "e/.envrc")
		must(t, os.Chmod(s.root+"/a/.envrc", 0o755|os.ModeSetuid|os.ModeSetgid))
	})
	s.write("c/.envrc")
	must(t, errors.Join(os.Rename(s.root+"/d", s.root+"/elsewhere"), os.Symlink(outside, s.root+"/d"), os.Remove(s.root+"/e")))
	for _, refused := range []struct {
		paths []string
		code  paddock.Code
	}{
		{[]string{"nothing"}, paddock.InvalidRequest},
		{[]string{"../run/lock"}, paddock.InvalidRequest},
		{[]string{"a/.envrc", "c/.envrc"}, paddock.Conflict}, // something is there
		{[]string{"d/.envrc"}, paddock.Conflict},             // it would leave the root
		{[]string{"e/.envrc"}, paddock.Conflict},
	} {
		if done, err := restore(t, s, refused.paths...); code(err) != refused.code || len(done) > 0 {
			t.Errorf("%q: %v, %v", refused.paths, done, err)
		}
	}
	if there(s.root+"/a/.envrc") || there(outside+"/.envrc") {
		t.Fatal("it was moved all the same")
	}
	k, err := Open(s.run)
	must(t, err)
	untold := errors.New("untold")
	if _, err := k.Restore([]string{"a/.envrc"}, func() error { return untold }); !errors.Is(err, untold) || there(s.root+"/a/.envrc") {
		t.Errorf("what can't be told is done: %v", err)
	}
	must(t, k.Close())
	if done, err := restore(t, s, "a/.envrc", "b/.claude", "a/.envrc"); err != nil || len(done) != 2 {
		t.Fatalf("%v, %v", done, err)
	}
	if info, err := os.Stat(s.root + "/a/.envrc"); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if !there(s.root + "/b/.claude/x") {
		t.Error("a directory isn't whole")
	}
	if _, err := restore(t, s, "a/.envrc"); code(err) != paddock.Conflict {
		t.Errorf("again: %v", err)
	}
	must(t, errors.Join(os.Rename(s.root, s.root+"2"), os.Mkdir(s.root, 0o755)))
	if _, err := restore(t, s, "c/.envrc"); !errors.Is(err, ErrMoved) {
		t.Errorf("another root: %v", err)
	}
}

// A root that can't be read isn't looked at, which is told.
func tryBlind(t *testing.T) {
	if os.Geteuid() == 0 {
		return
	}
	s := newScene(t)
	must(t, os.Chmod(s.root, 0o300))
	if d := s.during(func() {}); d.Unlooked == "" {
		t.Error("nothing is told")
	}
	if d, err := Lost(s.opt); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
}

// Of a run that lost its supervisor nobody knows what came after it.
func tryLost(t *testing.T) {
	s := newScene(t, "old/.envrc")
	must(t, s.begin().Close())
	s.write("a/.envrc", "old/.envrc")
	lost := Options{RunDir: s.run, Judge: judge, Now: time.Now}
	for range 2 { // who found it may be ended, too
		d, err := Lost(lost)
		must(t, err)
		want(t, d, "a/.envrc appeared, old/.envrc changed")
		if d.Found[0].Why != lateWhy || !there(s.root+"/a/.envrc") {
			t.Errorf("%+v", d)
		}
	}
	must(t, os.Rename(s.root, s.root+"2"))
	if d, err := Lost(lost); err != nil || d.Unlooked == "" {
		t.Errorf("without a root: %+v, %v", d, err)
	}
	must(t, os.Mkdir(s.root, 0o755))
	if d, err := Lost(lost); err != nil || !strings.Contains(d.Unlooked, "another directory") {
		t.Errorf("another root: %+v, %v", d, err)
	}
	must(t, os.WriteFile(filepath.Join(s.run, beforeName), []byte(`{"version":1,"mar`), 0o600))
	if d, err := Lost(lost); err != nil || d.Unlooked == "" {
		t.Errorf("torn: %+v, %v", d, err)
	}
	must(t, errors.Join(Forget(s.run), Forget(s.run)))
	if d, err := Lost(lost); d != nil || err != nil {
		t.Errorf("never watched: %+v, %v", d, err)
	}
}

// What was written down to be moved is, unless it is another thing by now.
func tryHalfMoved(t *testing.T) {
	s := newScene(t)
	w := s.begin()
	s.write("a/.envrc", "b/.envrc", "c/.envrc")
	seen := w.opt.eye().Look(w.root, w.before)
	var items []item
	for _, f := range w.before.Compare(seen) {
		items = append(items, itemOf(f))
	}
	must(t, errors.Join(os.Mkdir(Dir(s.run), 0o700), w.write(items)))
	must(t, os.Rename(s.root+"/"+items[0].Path, Dir(s.run)+"/1"))
	must(t, os.Remove(s.root+"/"+items[1].Path))
	s.write(items[1].Path, "late/.envrc")
	d, err := Lost(Options{RunDir: s.run, Judge: judge, Now: time.Now})
	must(t, err)
	all := []string{items[0].Path + " moved", items[1].Path + " appeared", items[2].Path + " moved", "late/.envrc appeared"}
	slices.Sort(all)
	want(t, d, strings.Join(all, ", "))
	if d.Unlooked != "" || !there(s.root+"/"+items[1].Path) {
		t.Errorf("%+v", d)
	}
}

// Where nothing can be renamed things are copied, with all that tells them.
func tryAcross(t *testing.T) {
	s := newScene(t)
	other, err := os.MkdirTemp("/dev/shm", "paddock-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { must(t, errors.Join(Remove(other), os.RemoveAll(other))) })
	var a, b unix.Stat_t
	must(t, errors.Join(unix.Stat(other, &a), unix.Stat(s.run, &b)))
	if a.Dev == b.Dev {
		t.Skip("one file system")
	}
	s.run, s.opt.RunDir = other, other
	when := time.Unix(1e9, 0)
	d := s.during(func() {
		s.write("a/.envrc", "b/.claude/x", "b/.claude/deep/y", "c/.claude/z", "huge/.envrc")
		must(t, errors.Join(os.Symlink("x", s.root+"/b/.claude/l"), os.Symlink("/nowhere", s.root+"/d"), os.Chtimes(s.root+"/a/.envrc", when, when)))
		must(t, errors.Join(os.Chmod(s.root+"/b/.claude/deep", 0), os.Chmod(s.root+"/b/.claude/x", 0), os.Chmod(s.root+"/a", 0o555)))
		must(t, errors.Join(unix.Mkfifo(s.root+"/c/.envrc", 0o600), os.Truncate(s.root+"/huge/.envrc", mostCopied+1)))
		if os.Geteuid() == 0 {
			must(t, os.Lchown(s.root+"/a/.envrc", 1234, 1235))
		}
	})
	want(t, d, "a/.envrc moved, b/.claude moved, c/.claude moved, c/.envrc appeared, huge/.envrc appeared")
	if left, err := filepath.Glob(other + "/quarantine/.*"); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	must(t, os.Chmod(s.root+"/a", 0o755))
	if done, err := restore(t, s, "a/.envrc", "b/.claude"); err != nil {
		t.Fatalf("%v, %v", done, err)
	}
	var st unix.Stat_t
	must(t, unix.Stat(s.root+"/a/.envrc", &st))
	if st.Mode&0o777 != 0o640 || st.Mtim.Sec != 1e9 || os.Geteuid() == 0 && (st.Uid != 1234 || st.Gid != 1235) {
		t.Errorf("%+v", st)
	}
	if to, err := os.Readlink(s.root + "/b/.claude/l"); err != nil || to != "x" {
		t.Errorf("%q, %v", to, err)
	}
	bytes, is, err := Size(other)
	if err != nil || !is || bytes == 0 {
		t.Errorf("%d, %v, %v", bytes, is, err)
	}
}

// What somebody put in the place of what was seen isn't moved.
func tryChangedMeanwhile(t *testing.T) {
	s := newScene(t)
	w := s.begin()
	s.write("a/.envrc", "b/.envrc")
	seen := w.opt.eye().Look(w.root, w.before)
	var items []item
	for _, f := range w.before.Compare(seen) {
		items = append(items, itemOf(f))
	}
	must(t, os.Remove(s.root+"/a/.envrc"))
	must(t, os.WriteFile(s.root+"/b/.envrc", []byte("somebody's"), 0o600))
	if err := w.take(&seen, items); err != nil {
		t.Error(err)
	}
	for _, i := range items {
		if i.Quarantined || !strings.HasPrefix(i.Why, "it can't be moved: ") {
			t.Errorf("%+v", i)
		}
	}
	if !there(s.root + "/b/.envrc") {
		t.Error("it was taken")
	}
}

// A directory of another account that nobody here gets into isn't a gap; one that
// can be entered is. What is mounted inside is one, and told last.
func TestDirectoriesOfOthers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can make directories of others")
	}
	base := t.TempDir()
	for up := base; up != os.TempDir() && len(up) > 1; up = filepath.Dir(up) {
		must(t, os.Chmod(up, 0o755))
	}
	for name, mode := range map[string]os.FileMode{"closed": 0o700, "open": 0o711} {
		dir := filepath.Join(base, name)
		must(t, errors.Join(os.MkdirAll(dir+"/others", 0o755), os.Chown(dir, testproc.Nobody, testproc.Nobody), os.Chmod(dir+"/others", mode), os.Mkdir(dir+".run", 0o700)))
		must(t, os.Chown(dir+".run", testproc.Nobody, testproc.Nobody))
		out, err := asNobody(t, "looker", dir)
		if want := map[string]string{"closed": "", "open": `"others": permission denied`}[name]; err != nil || out != want {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	gaps := []look.Gap{{Path: "m", Why: paddock.MountUnlooked}, {Path: "x", Why: "y"}}
	if got := unlooked(gaps); got != `"x": y, and 1 further directories` {
		t.Error(got)
	}
}

func asNobody(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := testproc.Self(t, args...)
	testproc.AsUser(t, cmd, testproc.Nobody)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// looker says what it couldn't look at of the root that it is told.
func looker() int {
	w, err := Begin(Options{Root: os.Args[1], RunDir: os.Args[1] + ".run", Judge: judge, Now: time.Now})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(w.End(0).Unlooked)
	return 0
}

// What the record has room for is told, what stayed first.
func TestManyFinds(t *testing.T) {
	t.Parallel()
	var items []item
	for i := range mostListed + 50 {
		items = append(items, item{Found: paddock.Found{Path: strconv.Itoa(i), Quarantined: i < mostListed+40}})
	}
	d := summary(look.Seen{Gaps: []look.Gap{{Path: "a\n", Why: "b"}, {Path: "c", Why: "d"}}}, items)
	if len(d.Found) != mostListed || d.More != 50 || d.Found[0].Quarantined || d.Found[9].Quarantined || !d.Found[10].Quarantined {
		t.Errorf("%d, %d, %+v", len(d.Found), d.More, d.Found[:11])
	}
	if d.Unlooked != `"a\n": b, and 1 further directories` {
		t.Error(d.Unlooked)
	}
}

// A list is read without trust.
func FuzzList(f *testing.F) {
	f.Add([]byte(`{"version":1,"root":"/nowhere","device":1,"inode":2,"items":[{"path":"../x","quarantined":true},{"raw":"Ly8=","mode":"9"}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"items":null,"version":1}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		run := t.TempDir()
		must(t, errors.Join(os.Mkdir(Dir(run), 0o700), os.WriteFile(filepath.Join(Dir(run), listName), text, 0o600)))
		k, err := Open(run)
		if err != nil {
			return
		}
		for _, i := range k.Items() {
			if _, err := k.Restore([]string{i.Path}, func() error { return nil }); err == nil {
				t.Errorf("%+v was restored", i)
			}
		}
		must(t, k.Close())
	})
}
