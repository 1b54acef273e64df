//go:build linux

package signing

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/journal"
	"paddock/internal/journal/audit"
	"paddock/internal/journal/sign"
	"paddock/internal/journal/writer"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type world struct {
	t     *testing.T
	dir   string
	clock time.Time
	w     *writer.Writer
}

func newWorld(t *testing.T, plan *Schedule) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "journal"), clock: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	var err error
	w.w, err = writer.Open(w.dir, writer.Options{Now: w.now, SegmentSize: 2 << 10})
	must(t, err)
	t.Cleanup(func() { must(t, w.w.Close()) })
	w.tell(1)
	_, _, err = sign.LoadOrCreate(KeyPath(w.dir, ""))
	must(t, errors.Join(err, SetSchedule(w.dir, plan)))
	return w
}

func (w *world) now() time.Time { return w.clock }

func (w *world) tell(n int) {
	w.t.Helper()
	for range n {
		must(w.t, w.w.Append(w.t.Context(), journal.AbandonedOf("r01m8kjt9g0zqy4w8mezs077e23", errors.New("of a test"))))
	}
}

// signed verifies the journal and counts its checkpoints.
func (w *world) signed() int {
	w.t.Helper()
	key, err := sign.LoadPublic(KeyPath(w.dir, "") + ".pub")
	must(w.t, err)
	r, err := audit.Run(w.t.Context(), w.dir, audit.Options{OpenNote: key.Open, Strangers: true})
	must(w.t, err)
	if !r.Whole() {
		w.t.Fatalf("%v", r.Faults)
	}
	return r.Checkpoints
}

func (w *world) want(s *Signer, n int) {
	w.t.Helper()
	must(w.t, s.Turn(w.t.Context()))
	if got := w.signed(); got != n {
		w.t.Errorf("%d checkpoints, want %d", got, n)
	}
}

func TestSignsByCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Schedule{Entries: 10})
	s := New(w.dir, w.now)
	w.want(s, 0)
	w.tell(8)
	w.want(s, 0)
	w.tell(1)
	w.want(s, 1)
	w.want(s, 1) // a checkpoint needs none of itself
	w.clock = w.clock.Add(time.Hour)
	w.tell(9)
	w.want(s, 1)
	w.tell(40) // through several segments
	w.want(s, 2)
	// Another process knows what is signed already.
	w.want(New(w.dir, w.now), 2)
}

func TestSignsByAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Schedule{Every: time.Hour})
	first, second := New(w.dir, w.now), New(w.dir, w.now)
	w.want(first, 0)
	w.want(second, 0)
	w.clock = w.clock.Add(time.Hour)
	w.want(first, 1)
	w.want(second, 1) // the other was faster
	w.clock = w.clock.Add(24 * time.Hour)
	w.want(first, 1) // nothing was told since
	w.tell(1)
	w.want(first, 1)
	w.clock = w.clock.Add(time.Hour)
	w.want(second, 2)
	w.want(first, 2)
	// A clock that was set back doesn't keep it from being signed.
	w.tell(1)
	w.clock = w.clock.Add(-240 * time.Hour)
	w.want(first, 3)
}

func TestNoSchedule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.tell(100)
	s := New(w.dir, w.now)
	w.want(s, 0)
	must(t, SetSchedule(w.dir, &Schedule{Entries: 10}))
	w.want(s, 1)
	must(t, SetSchedule(w.dir, nil))
	w.tell(100)
	w.want(s, 1)
	if err := New(filepath.Join(t.TempDir(), "none"), w.now).Turn(t.Context()); err != nil {
		t.Errorf("without a journal: %v", err)
	}
}

// Nothing is signed over what is wrong; it is told once a minute.
func TestSignsNothingThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]struct {
		do   func(t *testing.T, w *world)
		want string
	}{
		"a changed entry": {func(t *testing.T, w *world) {
			path := filepath.Join(w.dir, journal.Name(1))
			text, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, []byte(strings.Replace(string(text), "of a test", "of a tesk", 1)), 0o600))
		}, "isn't whole"},
		"no key":                {func(t *testing.T, w *world) { must(t, os.Remove(KeyPath(w.dir, ""))) }, "does not exist"},
		"a key that others see": {func(t *testing.T, w *world) { must(t, os.Chmod(KeyPath(w.dir, ""), 0o644)) }, "others may read it"},
		"a garbled schedule": {func(t *testing.T, w *world) {
			must(t, os.WriteFile(filepath.Join(w.dir, scheduleName), []byte("{"), 0o600))
		}, "schedule.json"},
		"a cut journal": {func(t *testing.T, w *world) {
			w.want(New(w.dir, w.now), 1)
			path := filepath.Join(w.dir, journal.Name(1))
			text, err := os.ReadFile(path)
			must(t, err)
			lines := strings.SplitAfter(string(text), "\n")
			must(t, os.WriteFile(path, []byte(strings.Join(lines[:2], "")), 0o600))
			for n := 2; ; n++ {
				if os.Remove(filepath.Join(w.dir, journal.Name(n))) != nil {
					break
				}
			}
			w.clock = w.clock.Add(time.Second) // else the same would be told again
			w.tell(1)
		}, "isn't whole"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, &Schedule{Entries: 10})
			w.tell(10)
			harm.do(t, w)
			s := New(w.dir, w.now)
			w.tell(10)
			before, err := sign.Newest(w.dir)
			must(t, err)
			if err := s.Turn(t.Context()); err == nil || !strings.Contains(err.Error(), harm.want) {
				t.Errorf("Turn = %v, want %q", err, harm.want)
			}
			if err := s.Turn(t.Context()); err != nil {
				t.Errorf("told again at once: %v", err)
			}
			w.clock = w.clock.Add(retryAfter)
			if err := s.Turn(t.Context()); err == nil {
				t.Error("not told again after a minute")
			}
			if after, err := sign.Newest(w.dir); err != nil || after != before {
				t.Errorf("signed: %q, %v", after, err)
			}
		})
	}
}

// A line that a crash tore is closed by the next writer, and then signed over.
func TestSignsOverATornLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Schedule{Entries: 10})
	s := New(w.dir, w.now)
	w.want(s, 0)
	f, err := os.OpenFile(filepath.Join(w.dir, journal.Name(1)), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"seq":3,"ti`)
	must(t, errors.Join(err, f.Close(), s.Turn(t.Context())))
	w.tell(20)
	w.want(s, 1)
}

// Another key is another signer, whose checkpoints count from then on.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &Schedule{Entries: 10})
	w.tell(10)
	s := New(w.dir, w.now)
	w.want(s, 1)
	other := filepath.Join(t.TempDir(), "key")
	key, err := sign.Create(other)
	must(t, err)
	must(t, SetSchedule(w.dir, &Schedule{Entries: 10, Key: other}))
	must(t, s.Turn(t.Context()))
	newest, err := sign.Newest(w.dir)
	must(t, err)
	if _, err := key.Open(newest); err != nil {
		t.Errorf("the newest checkpoint isn't by the new key: %v", err)
	}
	if got := w.signed(); got != 1 {
		t.Errorf("%d checkpoints by the first key", got)
	}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, s := range []Schedule{{Every: time.Minute}, {Entries: 10}, {Every: time.Hour, Entries: 1 << 30, Key: "/k"}} {
		must(t, SetSchedule(dir, &s))
		if got, err := ReadSchedule(dir); err != nil || *got != s {
			t.Errorf("%+v came back as %+v, %v", s, got, err)
		}
	}
	for _, s := range []Schedule{{}, {Every: time.Second}, {Every: -time.Hour}, {Entries: 1}, {Entries: -10}, {Entries: 10, Key: "k"}} {
		if SetSchedule(dir, &s) == nil {
			t.Errorf("%+v is a schedule", s)
		}
	}
	must(t, os.Remove(filepath.Join(dir, scheduleName)))
	must(t, os.Symlink("/dev/zero", filepath.Join(dir, scheduleName)))
	if _, err := ReadSchedule(dir); err == nil {
		t.Error("a link is followed")
	}
	must(t, SetSchedule(dir, nil))
	if s, err := ReadSchedule(dir); s != nil || err != nil {
		t.Errorf("after it was removed: %v, %v", s, err)
	}
}

func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"version":1,"every_ms":60000}`, `{"version":1,"entries":10,"key":"/k"}`, `{"version":2}`, `{"version":1,"entries":10}x`,
		`{"version":1,"entries":"10"}`, `{"version":1,"every_ms":9223372036854775807}`, "\x00", `{"version":1,"entries":10,"more":1}`, "{\"version\":1,\"entries\":10,\"key\":\"/\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseSchedule(text); err == nil && s.Check() != nil {
			t.Errorf("%q is read as %+v, which is none", text, s)
		}
	})
}
