package changes

import (
	"errors"
	"time"

	"paddock"
	"paddock/internal/workspace/apply/tree/quarantine"
)

// Quarantine lists what was moved out of the root.
func (d Desk) Quarantine() (paddock.Quarantine, error) {
	kept, err := d.quarantined()
	if err != nil {
		return paddock.Quarantine{}, err
	}
	return paddock.Quarantine{Run: d.Run.ID, Root: kept.Root(), Items: kept.Items()}, kept.Close()
}

// Restore moves what came from the paths back there.
func (d Desk) Restore(paths []string, by string) (_ paddock.Restored, err error) {
	if len(paths) == 0 {
		return paddock.Restored{}, paddock.Refused(paddock.InvalidRequest, "No path says what to restore.")
	}
	if err := settled(d.Run); err != nil {
		return paddock.Restored{}, err
	}
	lock, err := d.lock()
	if err != nil {
		return paddock.Restored{}, err
	}
	defer letGo(lock)
	kept, err := d.quarantined()
	if err != nil {
		return paddock.Restored{}, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	done, err := kept.Restore(paths, func() error {
		deed := paddock.Deed{Kind: paddock.DeedRestored, At: d.Now(), By: by, Paths: paths[:min(len(paths), mostListed)]}
		deed.More = len(paths) - len(deed.Paths)
		return d.AddDeed(deed)
	})
	if errors.Is(err, quarantine.ErrMoved) {
		err = paddock.Refused(paddock.Conflict, "The root isn't the directory any more that the run saw: %s.", kept.Root())
	}
	return paddock.Restored{Run: d.Run.ID, Root: kept.Root(), Paths: done}, err
}

// quarantined opens the quarantine of a run that has one.
func (d Desk) quarantined() (*quarantine.Kept, error) {
	kept, err := quarantine.Open(d.Path())
	if !errors.Is(err, quarantine.ErrNone) {
		return kept, err
	}
	r := paddock.Refused(paddock.Conflict, "Nothing of the run was put into quarantine.")
	r.Hint = "`paddock show RUN` says what was found in its root, and what became of it."
	for _, f := range found(d.Run) {
		if p := d.Run.Pruned; p != nil && f.Quarantined {
			return nil, paddock.Refused(paddock.Pruned, "The quarantine of the run was removed with its output at %s.", p.At.UTC().Format(time.RFC3339))
		}
	}
	return nil, r
}

func found(run paddock.Run) []paddock.Found {
	if run.Outcome == nil || run.Outcome.Deeper == nil {
		return nil
	}
	return run.Outcome.Deeper.Found
}
