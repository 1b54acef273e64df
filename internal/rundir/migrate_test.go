//go:build linux

package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/format"
	"paddock/internal/rundir/record/durable/links"
)

// The runs of testdata/layout1, which was made by a paddock of layout 1.
const (
	oldRead   = paddock.RunID("r01m8kjt9g0zqy4w8mezs077e23") // settled, and its owner has read it
	oldUnread = paddock.RunID("r01m8kjt9g1jzst893xh9hmkn1q")
	oldOpen   = paddock.RunID("r01m8kjt9g2mnm9h32myaz3cfbr") // goes on, and nobody looks after it
)

// old is a state directory as a paddock of layout 1 left it. Links aren't links
// any more, as after a copy.
func old(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "layout1"))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// current checks a directory that was brought up to date.
func current(t *testing.T, s *State) {
	t.Helper()
	if text := readAll(t, filepath.Join(s.Path(), "format")); text != format.Text(format.Layout) {
		t.Errorf("the format is %q", text)
	}
	for id, want := range map[paddock.RunID]bool{oldRead: true, oldUnread: false, oldOpen: false} {
		d, err := s.Run(id)
		if err != nil {
			t.Fatal(err)
		}
		if seen, err := durable.Exists(filepath.Join(d.Path(), links.Seen)); err != nil || seen != want {
			t.Errorf("run %s was read: %v, %v; want %v", id, seen, err, want)
		}
		if _, err := d.Record(clock()); err != nil {
			t.Error(err)
		}
	}
	running, finished, err := s.Unseen(alice)
	if running != 1 || finished != 1 || err != nil {
		t.Errorf("Unseen = %d, %d, %v", running, finished, err)
	}
	claim(t, s, func(c *Claim) error {
		for key, id := range map[string]paddock.RunID{"read": oldRead, "unread": oldUnread, "open": oldOpen} {
			if got, _, found, err := c.Key(alice, key); got != id || !found || err != nil {
				t.Errorf("key %s is of %q, %v, %v", key, got, found, err)
			}
		}
		return nil
	})
}

func TestOldLayoutIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	dir := old(t)
	var all sync.WaitGroup
	for range 8 { // who comes at once waits for the first
		all.Go(func() {
			s, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if text := readAll(t, filepath.Join(dir, "format")); text != format.Text(format.Layout) {
				t.Errorf("opened while the format is %q", text)
			}
		})
	}
	all.Wait()
	s := openAt(t, dir)
	current(t, s)
	lost, err := s.Reconcile(t.Context(), clock)
	if len(lost) != 1 || lost[0] != oldOpen || err != nil {
		t.Errorf("Reconcile = %v, %v", lost, err)
	}
	// What is read from now on says so itself.
	if err := s.MarkSeen(alice, oldUnread); err != nil {
		t.Error(err)
	}
	if _, finished, err := s.Unseen(alice); finished != 1 || err != nil {
		t.Errorf("finished = %d, %v", finished, err)
	}
}

// A step that ends anywhere, by a crash or a full disk, is begun again by the next.
func TestCrashWhileMigrating(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		crash func(t *testing.T, dir string)
	}{
		{"before the step", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "migrate.lock"), "")
		}},
		{"within the step", func(t *testing.T, dir string) {
			run := filepath.Join(dir, runsDir, "20261129", string(oldRead))
			if err := os.Link(filepath.Join(run, links.Claim), filepath.Join(run, links.Seen)); err != nil {
				t.Fatal(err)
			}
		}},
		{"after the step", func(t *testing.T, dir string) {
			if err := (links.Index{State: dir}).MarkRead(filepath.Join(dir, runsDir), record.Settled); err != nil {
				t.Fatal(err)
			}
		}},
		{"while the version was written", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, durable.TempPrefix+"0011"), "2")
		}},
		{"an older paddock read a run meanwhile", func(t *testing.T, dir string) {
			index := links.Index{State: dir}
			if err := os.Remove(index.Unseen(links.Hash(bob), oldUnread)); err == nil {
				t.Fatal("bob has no run")
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := old(t)
			c.crash(t, dir)
			current(t, openAt(t, dir))
		})
	}
}

func TestStepThatFails(t *testing.T) {
	t.Parallel()
	dir := old(t)
	full := errors.New("no space")
	err := format.Check(dir, []format.Step{{From: 1, Do: func(string) error { return full }}})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), "the next use goes on") {
		t.Errorf("Check = %v", err)
	}
	if text := readAll(t, filepath.Join(dir, "format")); text != "1\n" {
		t.Errorf("the format is %q after a step that failed", text)
	}
	if err := format.Check(dir, nil); err == nil || !strings.Contains(err.Error(), "nothing brings format 1") {
		t.Errorf("Check without steps = %v", err)
	}
	current(t, openAt(t, dir))
}

// Broken and hostile runs keep no directory from being brought up to date.
func TestMigratingAMess(t *testing.T) {
	t.Parallel()
	dir := old(t)
	day := filepath.Join(dir, runsDir, "20261129")
	for i, mess := range []func(run string) error{
		func(run string) error { return os.Mkdir(run, 0o700) },
		func(run string) error { return os.WriteFile(run, nil, 0o600) },
		func(run string) error { return os.Symlink("/", run) },
		func(run string) error {
			return errors.Join(os.Mkdir(run, 0o700), os.Symlink("/dev/zero", filepath.Join(run, links.Claim)))
		},
		func(run string) error { // claims to be another
			return errors.Join(os.Mkdir(run, 0o700), os.WriteFile(filepath.Join(run, links.Claim), []byte(`{"version":1,"id":"`+string(oldRead)+`","principal":"../..","request_digest":""}`), 0o600))
		},
	} {
		if err := mess(filepath.Join(day, string(newID(t, 100+i)))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, runsDir, "stray"), "")
	current(t, openAt(t, dir))
}
