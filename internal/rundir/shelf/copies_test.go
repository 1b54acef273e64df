package shelf

import (
	"testing"
	"time"

	"paddock"
)

// A book has copies of runs.
type book struct {
	of    map[Seen]*paddock.Run
	asked int // for how many
}

func (b *book) Of(seen []Seen) map[paddock.RunID]*paddock.Run {
	b.asked += len(seen)
	got := map[paddock.RunID]*paddock.Run{}
	for _, s := range seen {
		if run := b.of[s]; run != nil {
			got[s.ID] = run
		}
	}
	return got
}

func (b *book) Take(at Seen, run *paddock.Run) { b.of[at] = run }

// What was copied isn't read again, by whoever remembers nothing, as long as directories have
// the times that they had then. What may change beside its directory's time isn't copied.
func TestCopies(t *testing.T) {
	t.Parallel()
	r := newRoom(t, 300)
	b := &book{of: map[Seen]*paddock.Run{}}
	open := r.ids[7]
	r.runs[r.path(open)] = paddock.Run{ID: open, State: paddock.Running}
	list := func(want Wanted, asked int, reads int64) {
		t.Helper()
		var s Shelf // of a process that has just begun
		b.asked = 0
		runs, _, err := s.List(r.dir, "", 250, want, Reader{Look: r.look, Whose: func(string) (paddock.Principal, string, error) { return paddock.Principal{}, "x", nil }})
		if err != nil || len(runs) != 250 {
			t.Fatal(len(runs), err)
		}
		for i, run := range runs {
			if run.ID != r.ids[i] {
				t.Fatalf("%d is %s, want %s", i, run.ID, r.ids[i])
			}
		}
		if n := s.records.reads.Load(); b.asked != asked || n != reads {
			t.Errorf("%d copies were asked for and %d records read, want %d and %d", b.asked, n, asked, reads)
		}
	}
	again := Wanted{Again: true, Copies: b}
	list(again, 250, 250)
	list(again, 250, 1) // the one that goes on
	r.age(r.path(r.ids[3]), 2*time.Hour)
	list(again, 250, 2)
	list(again, 250, 1)
	list(Wanted{Copies: b}, 0, 0) // whoever changes what he gets has it read for himself
	for at, run := range b.of {   // of somebody who mixes them up
		other := *run
		other.ID = open
		b.of[at] = &other
	}
	list(again, 250, 250)
	if b.of[Seen{open, time.Time{}}] != nil || len(b.of) != 250 {
		t.Errorf("%d are copied", len(b.of))
	}
}
