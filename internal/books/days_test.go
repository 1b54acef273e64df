//go:build linux

package books

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/shelf"
)

// old is a world with runs of three days that are over, whose sums are written down,
// and one of today.
func old(t *testing.T) (*world, []*rundir.Dir) {
	t.Helper()
	w := newWorld(t, filepath.Join(t.TempDir(), "state"))
	t.Cleanup(func() { must(t, w.state.Close()) })
	for _, p := range []paddock.Principal{alice, alice.Delegate("worker", "d1"), alice} { // who pays for it
		w.begin(p, 50)
		w.begin(bob, 50)
		w.end(0, 10, 1, time.Second)
		w.end(0, 20, 2, 0)
		w.now = w.now.Add(50 * time.Hour)
	}
	w.begin(alice, 50)
	w.end(0, 3, 0, 0)
	for range 2 { // the first is for those who began to remove something before there were books
		must(t, os.RemoveAll(w.books.path(total)))
		w.look(alice)
	}
	sums, err := filepath.Glob(w.books.days().Path("*"))
	must(t, err)
	if len(sums) != 3 {
		t.Fatalf("the sums of %q are written down", sums)
	}
	return w, w.over
}

// reboot leaves books of an earlier start of the machine.
func (w *world) reboot() {
	w.t.Helper()
	text, err := os.ReadFile(w.books.path(total))
	must(w.t, err)
	must(w.t, os.WriteFile(w.books.path(total), bytes.Replace(text, []byte(`"boot":"`), []byte(`"boot":"x`), 1), 0o600))
}

// kept holds what is noted after a restart of the machine to want, for alice and all.
func (w *world) kept(mine, all int64, why string) {
	w.t.Helper()
	w.reboot()
	if f := w.look(alice); f.Principal.Kept != mine || f.Total.Kept != all {
		w.t.Fatalf("%s: kept are %d and %d, want %d and %d", why, f.Principal.Kept, f.Total.Kept, mine, all)
	}
}

// After a restart runs of days that are over aren't looked at again, however many there
// are: here they can't even be read.
func TestDaysThatAreOverAreNotCountedAgain(t *testing.T) {
	t.Parallel()
	w, runs := old(t)
	for _, d := range runs[:6] {
		must(t, os.WriteFile(filepath.Join(d.Path(), "outcome.json"), []byte("{"), 0o600))
	}
	w.kept(36, 102, "counted before")
	// Who asks for all of it gets it.
	must(t, w.claim(func(c *rundir.Claim) error { return w.books.Make(t.Context(), c, w.now) }))
	w.kept(3, 3, "made anew")
}

// What is removed of a day, or put into it, has it counted again.
func TestDaysThatChangeAreCountedAgain(t *testing.T) {
	t.Parallel()
	w, runs := old(t)
	w.prune(runs[0])
	w.kept(25, 91, "pruned")
	w.kept(25, 91, "and again")
	w.over = runs[2:3]
	w.remove(0)
	w.kept(14, 80, "removed")
	must(t, os.RemoveAll(runs[5].Path())) // by hand
	w.kept(14, 58, "taken away")
	w.over = nil
	w.agrees(true)
}

// A sum that can't be, or isn't of what is there, is none.
func TestHostileDays(t *testing.T) {
	t.Parallel()
	w, runs := old(t)
	name := w.books.days().Path(shelf.Day(runs[0].ID()))
	good, err := os.ReadFile(name)
	must(t, err)
	change := func(old, new string) string { return strings.Replace(string(good), old, new, 1) }
	for what, text := range map[string]string{
		"empty": "", "torn": string(good[:len(good)/2]), "another value": "[]", "NUL": "\x00" + string(good), "newer": change(`"version":1`, `"version":2`),
		"another number": change(`":11`, `":12`), "below zero": change(`":11`, `":-11`), "another principal": change(record.Hash(alice), record.Hash(bob)[:63]+"x"),
		"of other runs": change(`"runs":"`, `"runs":"1`), "doubled key": change(`"sum":`, `"sum":"","sum":`), "unknown key": change(`"sum":`, `"more":1,"sum":`),
		"bad UTF-8": change(`"runs":"`, "\"runs\":\"\xff"), "long": string(good) + strings.Repeat(" ", 20<<20), "no text": change(`"runs":"`, `"runs":7,"x":"`),
	} {
		if text == string(good) {
			t.Errorf("%s: nothing is changed", what)
		}
		must(t, os.WriteFile(name, []byte(text), 0o600))
		w.kept(36, 102, what)
	}
	must(t, os.Remove(name))
	must(t, os.Symlink("/dev/zero", name))
	w.kept(36, 102, "a link")
	must(t, os.WriteFile(filepath.Join(filepath.Dir(name), "notes.txt"), nil, 0o600))
	var found []string
	must(t, w.claim(func(c *rundir.Claim) error {
		return w.books.Wrong(t.Context(), c, w.now, func(path, why string, stranger bool) error {
			found = append(found, filepath.Base(path)+" "+why)
			return nil
		})
	}))
	if len(found) != 1 || !strings.HasPrefix(found[0], "notes.txt "+strange) {
		t.Errorf("found %q", found)
	}
}

// While something is being removed no sum is written: who removes may be ended, and
// the sum would tell of what was there before.
func TestNoSumsWhileSomethingIsRemoved(t *testing.T) {
	t.Parallel()
	w, runs := old(t)
	must(t, w.books.Removing(t.Context(), runs[0], func() error {
		w.kept(36, 102, "meanwhile")
		if _, err := os.Lstat(w.books.days().Path(shelf.Day(runs[0].ID()))); err == nil {
			t.Error("there is a sum of the day of which something is being removed")
		}
		return nil
	}))
}
