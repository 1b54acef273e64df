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

type ( // of lists: which runs one is of, and where records are copied
	Wanted = shelf.Wanted
	Copies = shelf.Copies
	Seen   = shelf.Seen
)

// List returns up to limit runs that are wanted, newest first, as [shelf.Shelf.List].
// When runs can't be read the error is an *[Unreadable] and the others are returned.
func (s *State) List(before paddock.RunID, limit int, w Wanted) (runs []paddock.Run, next paddock.RunID, err error) {
	now := time.Now()
	return s.shelf.List(filepath.Join(s.path, runsDir), before, limit, w, shelf.Reader{Whose: whose, Look: func(path string) (*paddock.Run, error) {
		d, err := record.Open(path)
		var run paddock.Run
		if err == nil {
			run, err = s.Look(d, now)
		}
		if err != nil {
			// A run that is removed while we list is none; what is left of a broken one is there to see.
			if there, e := durable.Exists(path); e == nil && !there {
				err = nil
			}
			return nil, err
		}
		return &run, nil
	}})
}

func whose(path string) (paddock.Principal, string, error) {
	d, err := record.Open(path)
	if err != nil {
		return paddock.Principal{}, "", err
	}
	return d.Whose()
}

// Newest is as shelf has it, of one day.
func (s *State) Newest(day string, before paddock.RunID, most int) ([]paddock.RunID, error) {
	return s.shelf.Newest(filepath.Join(s.path, runsDir, day), before, most)
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
