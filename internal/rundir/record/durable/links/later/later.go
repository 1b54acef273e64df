// Package later adds to a run that was called lost what its supervisor knew of its end
// after all.
//
// Nobody looks at such a run any more, so before there is an addendum the run is put
// back among those that somebody looks at. Whoever is ended after that leaves a run
// that the next one to reconcile comes to, and tells the journal of.
//
// # Limits
//
// It tells the journal nothing: its caller does, and then says that it is done.
package later

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
)

// Add keeps a beside the outcome of the run in dir, and has somebody look at it until
// [Done]; added is false where it was there.
func Add(ctx context.Context, dir *rundir.Dir, a paddock.Addendum) (added bool, err error) {
	err = claimed(ctx, dir, func(index links.Index) error {
		linked := links.Link(dir.Path(), index.Active(dir.ID()))
		failpoint.Here("addendum/looked")
		var kept error
		added, kept = dir.AddAddendum(a) // also where the run can't be put back
		failpoint.Here("addendum/kept")
		return errors.Join(linked, kept)
	})
	return added, err
}

// Done says that the journal was told, so that nobody needs to look any more.
func Done(ctx context.Context, dir *rundir.Dir) error {
	return claimed(ctx, dir, func(index links.Index) error {
		if noted, err := dir.Noted(); err != nil || !noted {
			return err
		}
		return durable.Remove(index.Active(dir.ID()))
	})
}

// claimed calls do while nobody else adds to what somebody looks at, or takes from it.
func claimed(ctx context.Context, dir *rundir.Dir, do func(links.Index) error) (err error) {
	state := filepath.Dir(filepath.Dir(filepath.Dir(dir.Path())))
	f, err := os.OpenFile(filepath.Join(state, links.Lock), os.O_RDWR|durable.NoFollow, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, durable.Unlock(f), f.Close()) }()
	if err := durable.WaitLock(ctx, f); err != nil {
		return err
	}
	return do(links.Index{State: state})
}
