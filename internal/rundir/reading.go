package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable/format"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/places"
	"paddock/internal/trust"
)

// migration brings a state directory of an older layout up to date.
var migration = []format.Step{
	// Of runs whose end was read there was no sign but that unseen had no entry.
	{From: 1, Do: func(dir string) error {
		return links.Index{State: dir}.MarkRead(filepath.Join(dir, runsDir), record.Settled)
	}},
}

// ErrReadOnly is what a state directory says that is only read.
var ErrReadOnly = errors.New("the state directory is only read")

// OpenToRead opens the state directory at path for one who can't have it because
// of why: it can't be written to, or is another user's. Nothing is written, and
// nothing in it is believed more than its owner. For any other reason, and where
// it can't be read either, the error is why.
func OpenToRead(path string, why error) (*State, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(path) {
		return nil, why
	}
	denied := errors.Is(why, fs.ErrPermission) || errors.Is(why, syscall.EROFS)
	if !denied && !trust.User().Strange(real) {
		return nil, why
	}
	if _, err := format.Read(real); err != nil {
		return nil, fmt.Errorf("%w; nor can it be read: %w", why, err)
	}
	if _, err := os.ReadDir(filepath.Join(real, runsDir)); err != nil {
		return nil, fmt.Errorf("%w; nor can it be read: %w", why, err)
	}
	unwritable := fmt.Errorf("%w: %w", ErrReadOnly, why)
	return &State{Places: places.Places{State: real}, path: real, index: links.Index{State: real}, turn: make(chan struct{}, 1), unwritable: unwritable}, nil
}

// ReadOnly says why the directory is only read, as an [ErrReadOnly]; nil when it
// isn't.
func (s *State) ReadOnly() error { return s.unwritable }

// Look is d.Record, but that a run which nobody looks after is lost to one who
// can't write that down.
func (s *State) Look(d *Dir, now time.Time) (paddock.Run, error) {
	run, err := d.Record(now)
	if err != nil || s.unwritable == nil || run.State.Settled() {
		return run, err
	}
	return record.Presume(d, run, now)
}
