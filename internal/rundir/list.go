package rundir

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/shelf"
)

// ListActive returns the runs that aren't settled, oldest first. Some may have
// nobody who looks after them: see [State.Reconcile].
func (s *State) ListActive() ([]paddock.RunID, error) {
	ids, err := s.activeNames()
	if err != nil {
		return nil, err
	}
	var active []paddock.RunID
	for _, id := range ids {
		there, settled, err := s.stands(id)
		if err != nil {
			return nil, err
		}
		if there && !settled {
			active = append(active, id)
		}
	}
	return active, nil
}

// activeNames lists the entries of active, also of runs that are settled or
// never appeared.
func (s *State) activeNames() ([]paddock.RunID, error) {
	ids, err := shelf.Newest(filepath.Join(s.path, links.ActiveDir), "", math.MaxInt)
	slices.Reverse(ids)
	return ids, err
}

// Unreadable is the error of a listing that had to leave runs out.
type Unreadable = shelf.Unreadable

// List returns up to limit runs that keep accepts (nil accepts all), newest
// first, of those made before the run before (all, when that is empty). next is
// the before of the following page; empty when no run is left to look at. Its
// memory depends on limit and not on how many runs there are. When runs can't
// be read the error is an *[Unreadable] and the others are returned.
func (s *State) List(before paddock.RunID, limit int, keep func(paddock.Run) bool) (runs []paddock.Run, next paddock.RunID, err error) {
	if before != "" {
		if _, err := paddock.ParseRunID(string(before)); err != nil {
			return nil, "", err
		}
	}
	days, err := shelf.Days(filepath.Join(s.path, runsDir), before)
	if err != nil || limit <= 0 {
		return nil, "", err
	}
	l := listing{s: s, limit: limit, keep: keep, now: time.Now()}
	for _, day := range days {
		if err := l.day(filepath.Join(s.path, runsDir, day), before); err != nil {
			return nil, "", err
		}
	}
	if len(l.broken) > 0 {
		err = &Unreadable{Runs: l.broken}
	}
	return l.runs, l.next, err
}

type listing struct {
	s      *State
	limit  int
	keep   func(paddock.Run) bool
	now    time.Time
	runs   []paddock.Run
	next   paddock.RunID
	broken []error
}

// day takes runs from one day's directory until the page is full and it is
// known whether anything is left.
func (l *listing) day(dir string, before paddock.RunID) error {
	for l.next == "" {
		chunk := max(64, l.limit-len(l.runs)+1)
		ids, err := l.s.names.Newest(dir, before, chunk)
		if err != nil {
			return durable.IgnoreMissing(err) // its last run was removed meanwhile
		}
		for _, id := range ids {
			if len(l.runs) == l.limit {
				l.next = l.runs[l.limit-1].ID
				return nil
			}
			l.take(filepath.Join(dir, string(id)))
		}
		if len(ids) < chunk {
			return nil
		}
		before = ids[len(ids)-1]
	}
	return nil
}

func (l *listing) take(path string) {
	d, err := record.Open(path)
	var run paddock.Run
	if err == nil {
		run, err = l.s.Look(d, l.now)
	}
	if err != nil {
		// A run that is removed while we list is none; what is left of a broken one is there to see.
		if there, e := durable.Exists(path); e != nil || there {
			l.broken = append(l.broken, err)
		}
		return
	}
	if l.keep == nil || l.keep(run) {
		l.runs = append(l.runs, run)
	}
}

// Unseen counts p's runs whose end p hasn't read: those that go on and those
// that are settled.
func (s *State) Unseen(p paddock.Principal) (running, finished int, err error) {
	return s.index.Unread(record.Hash(p), s.stands)
}

// ErrNotSettled is the error of asking for the end of a run that goes on.
var ErrNotSettled = errors.New("the run isn't settled")

// MarkSeen notes that p has read the end of a run. Noting it again, or of a run
// that isn't p's, changes nothing. The error is [ErrNotSettled] when the run
// has no end yet, and fs.ErrNotExist when there is no such run.
func (s *State) MarkSeen(p paddock.Principal, id paddock.RunID) error {
	d, err := s.Run(id)
	if err != nil {
		return err
	}
	settled, err := record.Settled(d.Path())
	if err != nil {
		return err
	}
	if !settled && s.unwritable == nil {
		return fmt.Errorf("run %s: %w", id, ErrNotSettled)
	}
	if s.unwritable != nil {
		return nil //nolint:nilerr // what can only be read keeps no list
	}
	return s.index.MarkSeen(record.Hash(p), id, d.Path())
}
