package census

import (
	"errors"
	"io/fs"
	"path/filepath"

	"paddock/internal/app/evidence/census/finding"
	"paddock/internal/app/evidence/census/finding/index"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
)

// leads looks whether what is to lead to a run does.
func (k *check) leads(d *rundir.Dir, principal, key string) error {
	settled, err := record.Settled(d.Path())
	if err != nil {
		return err
	}
	if noted, err := d.Noted(); err == nil && (!settled || !noted) {
		// Looked at again, since who reconciles takes the entry of one that is done.
		what := "the run goes on, and nobody would find it without its supervisor"
		if settled {
			what = "its end isn't known to be in the journal, and nobody would look"
		}
		again := func() bool {
			noted, err := d.Noted()
			return err == nil && noted
		}
		if err := k.entryOf(d, k.index.Active(d.ID()), what, again); err != nil {
			return err
		}
	}
	seen := func() bool {
		is, err := durable.Exists(filepath.Join(d.Path(), links.Seen))
		return err != nil || is
	}
	if !seen() {
		if err := k.entryOf(d, k.index.Unseen(principal, d.ID()), "its owner isn't told that its end wasn't read", seen); err != nil {
			return err
		}
	}
	if key == "" {
		return nil
	}
	return k.entryOf(d, k.index.Key(principal, key), "its idempotency key doesn't lead to it", func() bool { return false })
}

// entryOf looks at one entry of the index that is to be of the run d; since says
// that it needn't be any more.
func (k *check) entryOf(d *rundir.Dir, name, what string, since func() bool) error {
	e, err := links.Read(name)
	if err == nil && e.ID == d.ID() || since() {
		return nil
	}
	if there, gone := durable.Exists(d.Path()); gone == nil && !there {
		return nil
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k.find(finding.Index, d.ID(), name, finding.ByRebuild, "it is missing: %s", what)
	case err != nil:
		return k.find(finding.Index, d.ID(), name, finding.ByRebuild, "it can't be read: %s (%v)", what, err)
	}
	return k.find(finding.Index, d.ID(), name, finding.ByRebuild, "it is of run %s: %s", e.ID, what)
}

// indexes looks for entries that lead to no run.
func (k *check) indexes() error {
	return index.Stray(k.state, func(path, why string) error {
		keys := filepath.Base(filepath.Dir(path)) == links.KeysDir
		if k.state.ReadOnly() != nil {
			if !k.old(path) {
				return nil // perhaps of a run that is about to appear
			}
		} else if filepath.Base(filepath.Dir(path)) != links.UnseenDir {
			// With the claim nobody is about to make one appear, or has just removed it.
			if err := k.state.Claim(k.ctx, func(*rundir.Claim) error {
				why = index.Astray(k.state, path, keys)
				return nil
			}); err != nil || why == "" {
				return err
			}
		}
		return k.find(finding.Index, "", path, finding.ByRebuild, "%s", why)
	})
}
