//go:build linux

package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/format"
	"paddock/internal/rundir/record/durable/places"
	"paddock/internal/testproc"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir string) string // returns the path to open
		want  string                                // in the error; empty if it opens
	}{
		{"new, below new parents", func(t *testing.T, dir string) string { return filepath.Join(dir, "a", "b", "state") }, ""},
		{"empty", func(t *testing.T, dir string) string { return dir }, ""},
		{"what a first caller's crash left", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, durable.TempPrefix+"00"), "1")
			return dir
		}, ""},
		{"there already", func(t *testing.T, dir string) string { return openAt(t, filepath.Join(dir, "s")).Path() }, ""},
		{"relative", func(t *testing.T, dir string) string { return "state" }, "isn't an absolute path"},
		{"nothing", func(t *testing.T, dir string) string { return "" }, "isn't an absolute path"},
		{"a NUL byte", func(t *testing.T, dir string) string { return dir + "/a\x00b" }, "invalid argument"},
		{"a file", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "f"), "")
			return filepath.Join(dir, "f")
		}, "not a directory"},
		{"somebody's home", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, ".profile"), "")
			return dir
		}, "name a new or empty directory"},
		{"a newer format", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "format"), "3\n")
			return dir
		}, `its format is "3" and this version knows only "2" and older ones: use a newer paddock`},
		{"a garbled format", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "format"), strings.Repeat("1", 1000))
			return dir
		}, "longer than 64 bytes"},
		{"a link for format", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "x"), format.Text(format.Layout))
			return link(t, dir, "x", "format")
		}, "too many levels"},
		{"a file for runs", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "format"), format.Text(format.Layout))
			write(t, filepath.Join(dir, "runs"), "")
			return dir
		}, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := c.setup(t, t.TempDir())
			s, err := Open(path)
			if err == nil {
				defer s.Close()
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Open(%q) = %v, want %q", path, err, c.want)
			}
		})
	}
}

func link(t *testing.T, dir, target, name string) string {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Everything is the owner's only, whatever the umask.
func TestOwnerOnly(t *testing.T) {
	t.Parallel()
	s := open(t)
	text := "input"
	req := intent(alice).Request
	req.Command.Stdin.Text = &text
	d := prepare(t, s, newID(t, 0), granted(req))
	publish(t, s, d, "key")
	if err := d.WriteStarted(Started{LeaderPID: 1}); err != nil {
		t.Fatal(err)
	}
	settle(t, d)
	if _, err := s.Home("/srv/checkout"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(s.Path(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecondUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		testproc.Skip(t, "only root can be two users")
	}
	// Below a directory where everybody may have something of their own.
	shared, err := os.MkdirTemp("", "paddock-shared-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(shared); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	ours := openAt(t, filepath.Join(shared, "ours")).Path()
	as := func(path string) string {
		cmd := testproc.Command(t, testproc.Program(t, "tenant"), path)
		testproc.AsUser(t, cmd, testproc.Nobody)
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("as another user: %v\n%s", err, b)
		}
		return strings.TrimSpace(string(b))
	}
	theirs := filepath.Join(shared, "theirs")
	if got := as(theirs); got != "opened "+theirs {
		t.Errorf("another user's own directory: %s", got)
	}
	if got := as(ours); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("another user in our directory: %s", got)
	}
	s, err := Open(theirs)
	want := fmt.Sprintf("belongs to user %d", testproc.Nobody)
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("we in another user's directory: %v, want %q", err, want)
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, err1 := s.Home("/srv/a")
	again, err2 := s.Home("/srv/a")
	b, err3 := s.Home("/srv/b")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if a != again || a == b || filepath.Dir(a) != filepath.Join(s.Path(), places.Homes) {
		t.Errorf("homes: %s, %s, %s", a, again, b)
	}
}

// The home of another account is its own; others may pass to it and see nothing.
func TestHomeOf(t *testing.T) {
	t.Parallel()
	s := open(t)
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	if uid == 0 {
		uid, gid = 54321, 12345 // only root can give it to somebody
	}
	own, err1 := s.Home("/srv/a")
	home, err2 := s.HomeOf("/srv/a", paddock.Account{UID: uid, GID: gid})
	again, err3 := s.HomeOf("/srv/a", paddock.Account{UID: uid, GID: gid})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if home == own || home != again || filepath.Dir(home) != filepath.Join(s.Path(), places.Homes) {
		t.Errorf("homes: %s, %s, %s", own, home, again)
	}
	for path, want := range map[string]os.FileMode{s.Path(): 0o711, filepath.Dir(home): 0o711, home: 0o700, own: 0o700, filepath.Join(s.Path(), runsDir): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	info, err := os.Stat(home)
	if st, ok := info.Sys().(*syscall.Stat_t); err != nil || !ok || st.Uid != uid || st.Gid != gid {
		t.Errorf("it is of %+v, %v", info.Sys(), err)
	}
}

func TestRunThatIsnt(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, id := range []paddock.RunID{"", "r", ".tmp", "../../etc", newID(t, 0), paddock.RunID(strings.Repeat("r", 27))} {
		if _, err := s.Run(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Run(%q): %v", id, err)
		}
	}
	for _, path := range []string{"", "relative", "/", s.Path(), filepath.Join(s.Path(), "format")} {
		if d, err := OpenRun(path); err == nil {
			t.Errorf("OpenRun(%q) = %v", path, d)
		}
	}
}

// Two hundred runs from making to reading leave no descriptor behind. Not
// parallel: it counts the descriptors of the process.
func TestNoDescriptorIsLeft(t *testing.T) {
	testproc.Leaks(t)
	s, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		d, err := s.Prepare(t.Context(), newID(t, i), intent(alice))
		if err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			if err := d.Abandon(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		publish(t, s, d, fmt.Sprint(i))
		if err := testproc.Alone(d.ReleaseLock); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			settle(t, d)
		}
	}
	active(t, s, alice)
	reconcile(t, s)
	if _, _, err := s.List("", 1000, Wanted{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}
