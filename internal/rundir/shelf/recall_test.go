package shelf

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock"
)

// A room is a directory of runs' directories, in days, that are over.
type room struct {
	t    *testing.T
	dir  string
	ids  []paddock.RunID // newest first
	runs map[string]paddock.Run
}

func newRoom(t *testing.T, n int) *room {
	t.Helper()
	r := &room{t: t, dir: t.TempDir(), runs: map[string]paddock.Run{}}
	for i := range n {
		r.add(time.UnixMilli(1_800_000_000_000 + int64(i)))
	}
	return r
}

func (r *room) path(id paddock.RunID) string { return filepath.Join(r.dir, Day(id), string(id)) }

func (r *room) add(at time.Time) {
	r.t.Helper()
	id, err := paddock.NewRunID(at, nil)
	if err == nil {
		err = os.MkdirAll(r.path(id), 0o700)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.ids = append([]paddock.RunID{id}, r.ids...)
	r.runs[r.path(id)] = paddock.Run{ID: id, State: paddock.Exited}
	r.age(r.path(id), time.Hour)
	r.age(filepath.Dir(r.path(id)), time.Hour-time.Duration(len(r.ids))*time.Millisecond)
}

// age says that a directory changed so long ago.
func (r *room) age(path string, age time.Duration) {
	r.t.Helper()
	at := time.Now().Add(-age).Truncate(time.Millisecond).Add(1)
	if err := os.Chtimes(path, at, at); err != nil {
		r.t.Fatal(err)
	}
}

func (r *room) look(path string) (*paddock.Run, error) {
	run, ok := r.runs[path]
	if !ok {
		return nil, errors.New("unreadable")
	}
	return &run, nil
}

// A page of a list reads the names of a day once and the records on it, and neither when it
// is asked for again, however many runs there are; one more run costs one record.
func TestPagesReadWhatIsOnThem(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 1600)
	var s Shelf
	page := func(before paddock.RunID, n int, names, records int64) {
		t.Helper()
		a, b := s.Names.reads.Load(), s.records.reads.Load()
		runs, _, err := s.List(r.dir, before, n, Wanted{Again: true}, Reader{Look: r.look})
		if err != nil || len(runs) != n {
			t.Fatal(len(runs), err)
		}
		if a, b = s.Names.reads.Load()-a, s.records.reads.Load()-b; a != names || b != records {
			t.Errorf("%d runs before %q: %d directories and %d records were read, want %d and %d", n, before, a, b, names, records)
		}
	}
	page("", 50, 1, 50)
	page("", 50, 0, 0)
	page(r.ids[1510], 50, 0, 50)
	page(r.ids[1510], 50, 0, 0)
	r.add(time.UnixMilli(1_800_000_009_000))
	page("", 50, 1, 1)
	page(r.ids[500], 1000, 0, 1000) // as many as are remembered
	page("", 50, 0, 50)
}

// What is remembered of a run is what its directory has: it is read again once that has
// changed, or may have, and always where files in it may grow.
func TestRecordsAreReadAgain(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 1)
	path := r.path(r.ids[0])
	var s Shelf
	label := 0
	check := func(remembered bool) {
		t.Helper()
		for i := range 3 {
			run := r.runs[path]
			if label++; i == 0 || !remembered {
				run.Label = time.Duration(label).String()
				r.runs[path] = run
			}
			runs, _, err := s.List(r.dir, "", 10, Wanted{Again: true}, Reader{Look: r.look})
			if err != nil || len(runs) != 1 || runs[0].Label != run.Label || runs[0].State != run.State {
				t.Fatalf("%+v, %v; want %+v", runs, err, run)
			}
		}
	}
	set := func(state paddock.State, deeds int) {
		r.runs[path] = paddock.Run{ID: r.ids[0], State: state, Deeds: make([]paddock.Deed, deeds)}
		r.age(path, time.Hour+time.Duration(label)*time.Second) // another than before
	}
	check(true)
	set(paddock.Running, 0)
	check(false)
	set(paddock.Lost, 0) // which may be told of more
	check(false)
	set(paddock.Exited, 1) // and another deed may follow
	check(false)
	set(paddock.Killed, 0)
	r.age(path, -time.Hour) // as just now
	check(false)
	set(paddock.Exited, 0)
	check(true)
	// Who wants none remembered gets one of their own.
	run := r.runs[path]
	run.Label = "of its own"
	r.runs[path] = run
	if runs, _, err := s.List(r.dir, "", 10, Wanted{}, Reader{Look: r.look}); err != nil || runs[0].Label != run.Label {
		t.Errorf("%+v, %v", runs, err)
	}
	delete(r.runs, path)
	r.age(path, 2*time.Hour)
	var some *Unreadable
	if runs, _, err := s.List(r.dir, "", 10, Wanted{Again: true}, Reader{Look: r.look}); !errors.As(err, &some) || len(runs) != 0 {
		t.Errorf("%+v, %v", runs, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if runs, _, err := s.List(r.dir, "", 10, Wanted{Again: true}, Reader{Look: func(string) (*paddock.Run, error) { return nil, nil }}); err != nil || len(runs) != 0 { //nolint:nilnil // as Reader has it
		t.Errorf("%+v, %v", runs, err)
	}
}
