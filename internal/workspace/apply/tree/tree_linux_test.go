package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"paddock/internal/testproc"
	"paddock/internal/workspace/apply/tree/change"
)

func TestMain(m *testing.M) {
	testproc.Main(m, map[string]func() int{"remover": func() int {
		if err := Remove(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}})
}

func open(t *testing.T, path string) *Root {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func sample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t,
		os.MkdirAll(filepath.Join(dir, "a/b"), 0o755),
		os.WriteFile(filepath.Join(dir, "a/b/file"), []byte("content"), 0o644),
		os.WriteFile(filepath.Join(dir, "a/tool"), []byte("#!/bin/sh\n"), 0o755),
		os.WriteFile(filepath.Join(dir, "\xff\n"), nil, 0o600),
		os.Symlink("b/file", filepath.Join(dir, "a/link")),
		os.Symlink("/etc", filepath.Join(dir, "out")),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600),
		os.Chmod(filepath.Join(dir, "a/b"), 0o500),
	)
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "a/b"), 0o700) })
	return dir
}

func paths(entries []change.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s %o %s", e.Path, e.Mode, e.Target))
	}
	return out
}

func TestWalkAndCopy(t *testing.T) {
	t.Parallel()
	from := open(t, sample(t))
	seen, err := from.Walk(100, false)
	must(t, err)
	want := []string{"a 40755 ", "a/b 40500 ", "a/b/file 100644 ", "a/link 120777 b/file", "a/tool 100755 ", "fifo 10600 ", "out 120777 /etc", "\xff\n 100600 "}
	got := paths(seen.Entries)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	target := t.TempDir()
	t.Cleanup(func() { _ = Remove(filepath.Join(target, "a")) })
	to := open(t, target)
	left, err := from.Copy(seen, to, 1<<20)
	if left != 1 || err != nil {
		t.Errorf("%d left out, %v", left, err)
	}
	copied, err := to.Walk(100, false)
	must(t, err)
	if diff := cmp.Diff(append(got[:5:5], got[6:]...), paths(copied.Entries)); diff != "" {
		t.Error(diff)
	}
	if same, err := Same(from, "a/b/file", to, "a/b/file"); !same || err != nil {
		t.Errorf("same %v, %v", same, err)
	}
	if same, err := Same(from, "a/tool", to, "a/b/file"); same || err != nil {
		t.Errorf("same %v, %v", same, err)
	}
	for _, e := range copied.Entries {
		was := change.Index(seen.Entries)[e.Path]
		if e.Regular() && e.Mtime/1000 != was.Mtime/1000 {
			t.Errorf("%q has another time", e.Path)
		}
	}
	if _, err := from.Walk(3, false); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	if _, err := from.Copy(seen, open(t, t.TempDir()), 3); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// No name leads out, whatever stands in the way.
func TestNothingLeadsOut(t *testing.T) {
	t.Parallel()
	r := open(t, sample(t))
	for _, name := range []string{"out/passwd", "a/link", "..", "../x", "/etc/passwd", "a/../../x", "fifo"} {
		if f, err := r.File(name); err == nil {
			t.Errorf("%s was opened", name)
			_ = f.Close()
		}
	}
	for _, name := range []string{"out/passwd", "a/tool/x", "nothing"} {
		if _, err := r.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(r.dir.Name(), "out")); err == nil {
		t.Error("a link was opened as a root")
	}
}

// What a program left can be removed by the ordinary user that it ran as.
func TestRemove(t *testing.T) {
	t.Parallel()
	for _, user := range []int{os.Geteuid(), testproc.Nobody} {
		dir, err := os.MkdirTemp("/tmp", "paddock-remove-")
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		must(t, os.Chown(dir, user, -1), os.Chmod(dir, 0o755))
		doomed := filepath.Join(dir, "doomed")
		must(t, os.Mkdir(doomed, 0o755))
		// Deeper than a path can say, with doors shut on the way.
		at, err := Open(doomed)
		must(t, err)
		for i := range 700 {
			must(t, unix.Mkdirat(int(at.dir.Fd()), "deeper", 0o700))
			next, err := at.OpenAt("deeper", unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(t, err)
			fd, err := unix.Openat(int(at.dir.Fd()), "file", unix.O_CREAT|unix.O_WRONLY, 0)
			must(t, err, unix.Close(fd), unix.Fchown(int(next.Fd()), user, -1))
			if i%3 == 0 {
				must(t, unix.Fchmod(int(at.dir.Fd()), 0))
			}
			must(t, at.Close())
			at = &Root{next}
		}
		must(t, at.Close(), os.Symlink("/etc", filepath.Join(doomed, "link")))
		must(t, os.Chown(doomed, user, -1))
		cmd := testproc.Self(t, "remover", doomed)
		testproc.AsUser(t, cmd, user)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("as %d: %v %s", user, err, out)
		}
		if _, err := os.Lstat(doomed); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("as %d it is still there: %v", user, err)
		}
	}
	if err := Remove("/nowhere/at/all"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Error(err)
	}
}

func TestALayer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	if err := unix.Mknod(filepath.Join(dir, "gone"), unix.S_IFCHR, 0); err != nil {
		testproc.Skip(t, err.Error())
	}
	if err := unix.Setxattr(filepath.Join(dir, "a"), "user.overlay.opaque", []byte("y"), 0); err != nil {
		testproc.Skip(t, err.Error())
	}
	seen, err := open(t, dir).Walk(10, true)
	must(t, err)
	var got []string
	for _, e := range seen.Entries {
		got = append(got, strings.TrimSpace(fmt.Sprint(e.Path, " ", e.Void, " ", e.Opaque)))
	}
	if diff := cmp.Diff([]string{"a false true", "a/b false false", "gone true false"}, got); diff != "" {
		t.Error(diff)
	}
	must(t, unix.Setxattr(filepath.Join(dir, "a"), "user.overlay.redirect", []byte("x"), 0))
	if _, err := open(t, dir).Walk(10, true); err == nil {
		t.Error("a mark that isn't known was passed over")
	}
}
