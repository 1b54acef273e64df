//go:build linux

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const dir, link, me, other = unix.S_IFDIR, unix.S_IFLNK, 1000, 1001
	for _, c := range []struct {
		name            string
		uid, mode, self uint32
		want            string
	}{
		{"ours", me, dir | 0o755, me, ""},
		{"root's", 0, dir | 0o755, me, ""},
		{"another's", other, dir | 0o755, me, "belongs to user 1001"},
		{"another's, seen by root", other, dir | 0o700, 0, "belongs to user 1001"},
		{"open to the group", me, dir | 0o775, me, "mode 0775"},
		{"open to all", 0, dir | 0o757, me, "mode 0757"},
		{"open to all, sticky", 0, dir | unix.S_ISVTX | 0o777, me, ""},
		{"another's, sticky", other, dir | unix.S_ISVTX | 0o777, me, "belongs to user 1001"},
		{"our link", me, link | 0o777, me, ""},
		{"another's link", other, link | 0o777, me, "belongs to user 1001"},
	} {
		err := UID(int(c.self)).Check("/x", &unix.Stat_t{Uid: c.uid, Mode: c.mode})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestMakeDir(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir string) (path, real string)
		want  string
	}{
		{"dots and slashes", func(t *testing.T, dir string) (string, string) {
			mkdir(t, dir, "a", 0o700)
			return dir + "//a/./../a/b/", dir + "/a/b"
		}, ""},
		{"links, relative and absolute", func(t *testing.T, dir string) (string, string) {
			mkdir(t, dir, "a", 0o700)
			symlink(t, "a/../a", dir+"/up")
			symlink(t, dir+"/up", dir+"/abs")
			return dir + "/abs/new", dir + "/a/new"
		}, ""},
		{"a link to nothing yet", func(t *testing.T, dir string) (string, string) {
			symlink(t, "later/on", dir+"/l")
			return dir + "/l", dir + "/later/on"
		}, ""},
		{"a ring of links", func(t *testing.T, dir string) (string, string) {
			symlink(t, "b", dir+"/a")
			symlink(t, "a", dir+"/b")
			return dir + "/a", ""
		}, "too many levels"},
		{"writable by all", func(t *testing.T, dir string) (string, string) { return mkdir(t, dir, "w", 0o777), "" }, "can be written to by"},
		{"writable by the group", func(t *testing.T, dir string) (string, string) { return mkdir(t, dir, "w", 0o720), "" }, "can be written to by"},
		{"sticky itself", func(t *testing.T, dir string) (string, string) {
			return mkdir(t, dir, "w", 0o777|os.ModeSticky), ""
		}, "can be written to by"},
		{"below one writable by all", func(t *testing.T, dir string) (string, string) {
			return mkdir(t, dir, "w", 0o777) + "/s", ""
		}, "can be written to by"},
		{"below a sticky one", func(t *testing.T, dir string) (string, string) {
			w := mkdir(t, dir, "w", 0o777|os.ModeSticky)
			return w + "/s", w + "/s"
		}, ""},
		{"by a link below one writable by all", func(t *testing.T, dir string) (string, string) {
			w := mkdir(t, dir, "w", 0o777)
			symlink(t, mkdir(t, dir, "safe", 0o700), w+"/l")
			return w + "/l", ""
		}, "can be written to by"},
		{"through a file", func(t *testing.T, dir string) (string, string) {
			if err := os.WriteFile(dir+"/f", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return dir + "/f/s", ""
		}, "not a directory"},
		{"a name that is too long", func(t *testing.T, dir string) (string, string) {
			return filepath.Join(dir, strings.Repeat("x", 300)), ""
		}, "file name too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			path, want := c.setup(t, dir)
			place, err := User().MakeDir(path)
			real := ""
			if err == nil {
				defer place.Close()
				real = place.Path
			}
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("MakeDir(%q) = %q, %v, want %q", path, real, err, c.want)
				}
				return
			}
			if err != nil || real != want {
				t.Fatalf("MakeDir(%q) = %q, %v, want %q", path, real, err, want)
			}
			info, err := os.Lstat(real)
			if err != nil || info.Mode() != os.ModeDir|0o700 {
				t.Errorf("made with mode %v, %v", info.Mode(), err)
			}
		})
	}
}

func mkdir(t *testing.T, dir, name string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
