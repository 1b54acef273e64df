package shelf

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"paddock"
)

// Wanted says which runs a list is of.
type Wanted struct {
	// Principal is whose they are; nobody in particular stands for everybody.
	Principal paddock.Principal
	// Label is theirs; empty stands for any.
	Label string
	// Looks is how many runs may be looked at of which it isn't remembered whose they are
	// and what they are called; 0 stands for any number.
	Looks int
	// Again says that such lists are asked for again and again: runs that are over are
	// remembered. What they point to is shared with other lists then, and nobody changes it.
	Again bool
	// Copies are asked before a run is read that is to be remembered; nil has none.
	Copies Copies
}

// A Seen is a run whose directory had a time.
type Seen struct {
	ID      paddock.RunID
	Changed time.Time
}

// Copies are records that somebody keeps for longer than memory does.
type Copies interface {
	// Of returns those that were copied when their directories had the same times. Nobody
	// changes them.
	Of(seen []Seen) map[paddock.RunID]*paddock.Run
	// Take is given one that was read and that nothing changes without the directory's
	// time.
	Take(at Seen, run *paddock.Run)
}

var everybody paddock.Principal

// Has says whether a run is wanted.
func (w Wanted) Has(run paddock.Run) bool { return w.has(kind{run.Principal, run.Label}) }

func (w Wanted) has(k kind) bool {
	return (w.Principal == everybody || w.Principal == k.principal) && (w.Label == "" || w.Label == k.label)
}

// mostKinds bounds how many kinds of runs are remembered: runs of more are read each time.
const mostKinds = 1 << 16

// A kind is whose runs are, and what they are called: neither ever changes.
type kind struct {
	principal paddock.Principal
	label     string
}

// A Shelf is the runs of a state directory, by day. The zero Shelf is ready.
type Shelf struct {
	Names
	records records
	kinds   sync.RWMutex
	of      map[kind]Kind // guarded by kinds
	list    []kind        // those of the numbers from 1 on; guarded by kinds
}

// A Reader reads the run in a directory.
type Reader struct {
	// Whose says whose it is, and what it is called.
	Whose func(path string) (paddock.Principal, string, error)
	// Look reads all of it; nil stands for none.
	Look func(path string) (*paddock.Run, error)
}

// List returns up to limit runs that are wanted, newest first, of those made before the
// run before (all, when that is empty), in the days in dir. next is the before of the
// following page; empty when no run is left to look at. A page has fewer runs, and a
// next, where more would have to be looked at than may be. Its memory depends on limit
// and not on how many runs there are, but for some bytes of each that are remembered.
func (s *Shelf) List(dir string, before paddock.RunID, limit int, w Wanted, read Reader) (runs []paddock.Run, next paddock.RunID, err error) {
	if before != "" {
		if _, err := paddock.ParseRunID(string(before)); err != nil {
			return nil, "", err
		}
	}
	days, err := Days(dir, before)
	if err != nil || limit <= 0 {
		return nil, "", err
	}
	if look := read.Look; w.Again {
		read.Look = func(path string) (*paddock.Run, error) { return s.records.of(path, look, w.Copies) }
	}
	l := listing{s: s, limit: limit, want: w, sieve: s.sieve(w, read), read: read}
	for _, day := range days {
		if err := l.day(filepath.Join(dir, day), before); err != nil {
			return nil, "", err
		}
	}
	if len(l.broken) > 0 {
		err = &Unreadable{Runs: l.broken}
	}
	return l.runs, l.next, err
}

type listing struct {
	s      *Shelf
	limit  int
	want   Wanted
	sieve  *Sieve // nil where everything is wanted
	read   Reader
	runs   []paddock.Run
	next   paddock.RunID
	broken []error
}

// day takes runs from one day's directory until the page is full and it is
// known whether anything is left.
func (l *listing) day(dir string, before paddock.RunID) error {
	for l.next == "" {
		chunk := max(64, l.limit-len(l.runs)+1)
		ids, stopped, err := l.newest(dir, before, chunk)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // its last run was removed meanwhile
		}
		if err != nil {
			return err
		}
		copied := l.s.records.copied(dir, ids[:min(len(ids), l.limit-len(l.runs))], l.copies())
		for _, id := range ids {
			if len(l.runs) == l.limit {
				l.next = l.runs[l.limit-1].ID
				return nil
			}
			run, err := copied[id], error(nil)
			if run == nil {
				run, err = l.read.Look(filepath.Join(dir, string(id)))
			}
			if err != nil {
				l.broken = append(l.broken, err)
			} else if run != nil && l.want.Has(*run) { // what can't be remembered wasn't sifted
				l.runs = append(l.runs, *run)
			}
		}
		if l.next = stopped; stopped != "" || len(ids) < chunk {
			return nil
		}
		before = ids[len(ids)-1]
	}
	return nil
}

func (l *listing) copies() Copies {
	if !l.want.Again {
		return nil
	}
	return l.want.Copies
}

func (l *listing) newest(dir string, before paddock.RunID, most int) ([]paddock.RunID, paddock.RunID, error) {
	if l.sieve != nil {
		return l.s.Sift(dir, before, most, l.sieve)
	}
	ids, err := l.s.Newest(dir, before, most)
	return ids, "", err
}

// sieve finds what is wanted; nil where that is everything.
func (s *Shelf) sieve(w Wanted, read Reader) *Sieve {
	if w.Principal == everybody && w.Label == "" {
		return nil
	}
	looks := w.Looks
	if looks == 0 {
		looks = -1
	}
	return &Sieve{
		Looks: looks,
		Of: func(dir string, id paddock.RunID) Kind {
			principal, label, err := read.Whose(filepath.Join(dir, string(id)))
			if err != nil {
				return 0 // it is read when it is listed, which says why
			}
			return s.number(kind{principal, label})
		},
		Wants: func(n Kind) bool {
			s.kinds.RLock()
			defer s.kinds.RUnlock()
			return w.has(s.list[n-1])
		},
	}
}

// number is that of a kind; 0 where there are too many.
func (s *Shelf) number(k kind) Kind {
	s.kinds.Lock()
	defer s.kinds.Unlock()
	if n := s.of[k]; n != 0 || len(s.list) >= mostKinds {
		return n
	}
	if s.of == nil {
		s.of = map[kind]Kind{}
	}
	s.list = append(s.list, k)
	s.of[k] = Kind(len(s.list))
	return s.of[k]
}
