package book

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/task"
)

// What isn't acknowledged lies in the shelf itself, the rest below it.
const done = "acknowledged"

// remembered is how long one that is acknowledged is known by its name.
const remembered = 7 * 24 * time.Hour

// A Book is that of one state directory.
type Book struct {
	shelf task.Shelf
	now   func() time.Time
}

// Open returns the book below a state directory.
func Open(state string, now func() time.Time) Book {
	return Book{task.NewShelf(state, "delegates"), now}
}

// Locked calls fn while nobody else changes anything.
func (b Book) Locked(ctx context.Context, fn func() error) error { return b.shelf.Locked(ctx, fn) }

// Get returns a delegate that isn't acknowledged; fs.ErrNotExist means that there is
// none of that id.
func (b Book) Get(id string) (Delegate, error) {
	var d Delegate
	if !ParseID(id) {
		return d, fs.ErrNotExist
	}
	err := b.shelf.Read(file(id), &d)
	return d, err
}

func file(id string) string { return id + ".json" }

// Load returns the delegates that aren't acknowledged, oldest first.
func (b Book) Load() ([]Delegate, error) {
	entries, err := os.ReadDir(b.shelf.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Delegate
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !ParseID(id) {
			continue
		}
		var d Delegate
		switch readErr := b.shelf.Read(e.Name(), &d); {
		case errors.Is(readErr, fs.ErrNotExist): // acknowledged meanwhile
		case readErr != nil:
			err = errors.Join(err, readErr)
		default:
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Delegate) int { return strings.Compare(a.ID, b.ID) })
	return all, err
}

// Find returns the delegate called id, acknowledged or not, if p may see it.
func (b Book) Find(p paddock.Principal, id string) (Delegate, error) {
	var d Delegate
	err := fs.ErrNotExist
	if ParseID(id) {
		for _, name := range []string{file(id), filepath.Join(done, file(id)), file(id)} { // it may move while we look
			if err = b.shelf.Read(name, &d); !errors.Is(err, fs.ErrNotExist) {
				break
			}
		}
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !Sees(p, d) {
		refusal := paddock.Refused(paddock.NotFound, "There is no delegate %.40q of yours.", id)
		refusal.Hint = "Use an id that delegate_task returned; collect_results without one has all results that wait."
		return Delegate{}, refusal
	}
	return d, err
}

// Sees reports whether a delegate is p's to see.
func Sees(p paddock.Principal, d Delegate) bool {
	return p.Kind == paddock.Operator || p == d.Principal
}

// Write puts what is known of a delegate in its place.
func (b Book) Write(d Delegate) error { return b.shelf.Write(file(d.ID), d) }

// Claim moves a delegate to those that are acknowledged. After a crash in between it
// is in both places, and to claim it again is to finish.
func (b Book) Claim(d Delegate) error {
	now := b.now()
	d.State, d.AcknowledgedAt = Acknowledged, &now
	if err := durable.MakeDir(filepath.Join(b.shelf.Dir(), done)); err != nil {
		return err
	}
	if err := b.shelf.Write(filepath.Join(done, file(d.ID)), d); err != nil {
		return err
	}
	return durable.Remove(filepath.Join(b.shelf.Dir(), file(d.ID)))
}

// Prune has results that stale says, and that nobody acknowledged, go as if by had, once
// tell has taken them, and returns them: for as long as Forget leaves them they are known
// by their ids. With a nil tell they stay.
func (b Book) Prune(ctx context.Context, by string, stale task.Stale, tell func([]Delegate) error) (gone []Delegate, err error) {
	err = b.Locked(ctx, func() error {
		all, err := b.Load()
		all = slices.DeleteFunc(slices.Clone(all), func(d Delegate) bool { return d.State != Ready })
		going := task.Old(stale, all, func(d Delegate) time.Time { return d.Result.SettledAt })
		for i := range going {
			going[i].PrunedBy = by
		}
		if tell == nil {
			gone = going
			return err
		}
		if len(going) > 0 {
			if failed := tell(going); failed != nil {
				return errors.Join(err, failed)
			}
		}
		for _, d := range going {
			if failed := b.Claim(d); failed != nil {
				return errors.Join(err, failed)
			}
			gone = append(gone, d)
		}
		return errors.Join(err, b.Forget())
	})
	return gone, err
}

// Forget removes what was acknowledged long ago; their runs have retention of
// their own.
func (b Book) Forget() error {
	dir := filepath.Join(b.shelf.Dir(), done)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		id, _ := strings.CutSuffix(e.Name(), ".json")
		if ParseID(id) && b.now().Sub(paddock.RunID("r"+id[1:]).Time()) > remembered {
			err = cmp.Or(err, durable.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
