package rundir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
)

// A Claim is the right to count runs and to add one, held by one goroutine of
// one process at a time. It is valid while the function it was given to runs.
type Claim struct{ s *State }

// Claim waits for the claim lock, or for ctx to end, and calls fn with it. Its
// error is fn's. fn must not call Claim or Reconcile of the same directory.
func (s *State) Claim(ctx context.Context, fn func(*Claim) error) (err error) {
	if s.unwritable != nil {
		return s.unwritable
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := durable.WaitLock(ctx, s.claim); err != nil {
		return err
	}
	defer func() {
		// Unlocked and not only closed: a child that is just being started may
		// hold a copy of the descriptor until it has become its program.
		err = errors.Join(err, durable.Unlock(s.claim))
	}()
	return fn(&Claim{s})
}

// Active counts the runs of p, and of all delegates that work for the same as p, that
// aren't settled and that somebody looks after. Those without either are left to [State.Reconcile].
func (c *Claim) Active(p paddock.Principal) (int, error) {
	ids, err := c.s.activeNames()
	if err != nil {
		return 0, err
	}
	mine, n := record.Hash(p.Root()), 0
	for _, id := range ids {
		entry, err := c.entry(id)
		if err != nil {
			return 0, err
		}
		if entry == nil || cmp.Or(entry.For, entry.Principal) != mine {
			continue
		}
		d, err := c.s.Run(id)
		if err != nil {
			return 0, err
		}
		f, err := record.Vacant(d)
		if err != nil {
			return 0, err
		}
		if f == nil {
			n++
		} else if err := f.Close(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// entry reads the active entry of a run that isn't settled. Entries of settled
// runs, and of runs that a crash kept from appearing, are dropped: then, as for
// one that is gone meanwhile, it returns nil.
func (c *Claim) entry(id paddock.RunID) (*record.Entry, error) {
	there, settled, err := c.s.stands(id)
	if err != nil {
		return nil, err
	}
	var e record.Entry
	err = durable.ReadJSON(c.s.index.Active(id), &e)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case settled:
		return nil, c.s.forget(id) // whatever it says
	case err != nil:
		return nil, err
	case e.ID != id:
		return nil, fmt.Errorf("%s is of another run, %q", c.s.index.Active(id), e.ID)
	case !there:
		// We have the claim, so nobody is about to rename it into place.
		return nil, c.s.index.DropOrphan(id, e.Principal)
	}
	return &e, nil
}

// Key returns the run that p's idempotency key stands for, and the digest of
// the request that it was first used with.
func (c *Claim) Key(p paddock.Principal, key string) (id paddock.RunID, requestDigest paddock.Digest, found bool, err error) {
	name := c.s.index.Key(record.Hash(p), key)
	var e record.Entry
	if err := durable.ReadJSON(name, &e); err != nil {
		return "", "", false, durable.IgnoreMissing(err)
	}
	if _, err := paddock.ParseRunID(string(e.ID)); err != nil || e.Principal != record.Hash(p) {
		return "", "", false, fmt.Errorf("%s isn't a key of this principal's run", name)
	}
	there, err := durable.Exists(c.s.PathOf(e.ID))
	if err != nil || !there {
		return "", "", false, err // a crash came before the run, or it was removed since
	}
	return e.ID, e.RequestDigest, true, nil
}

// Publish makes the prepared run d exist, under key unless that is empty. Its
// entries come first and the directory last: a crash in between leaves entries
// of a run that doesn't exist, which everybody passes over. When it fails, d is
// as before and may be abandoned, unless only the last sync failed: then the
// run exists, and is found lost when its lock is let go.
func (c *Claim) Publish(d *Dir, key string) error {
	if !record.Prepared(d) {
		return fmt.Errorf("run %s: only a prepared run can be published", d.ID())
	}
	final := c.s.PathOf(d.ID())
	if there, err := durable.Exists(final); err != nil || there {
		return errors.Join(err, fmt.Errorf("run %s: can't be published as %s: %w", d.ID(), final, fs.ErrExist))
	}
	entries, err := c.link(d, key)
	if err == nil {
		err = c.move(d, final)
	}
	if err == nil || !record.Prepared(d) {
		return err
	}
	for _, name := range entries {
		err = errors.Join(err, durable.Remove(name))
	}
	return err
}

// link makes d's entries and returns those it made.
func (c *Claim) link(d *Dir, key string) (made []string, err error) {
	var names []string
	if key != "" {
		name := c.s.index.Key(record.Principal(d), key)
		if err := links.FreeKey(name, c.there); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	unseen := c.s.index.Owned(record.Principal(d))
	if err := durable.MakeDir(unseen); err != nil {
		return nil, err
	}
	names = append(names, c.s.index.Active(d.ID()), filepath.Join(unseen, string(d.ID())))
	for _, name := range names {
		if err := os.Link(record.EntryFile(d), name); err != nil {
			return made, err
		}
		made = append(made, name)
		c.s.at(fmt.Sprintf("linked-%d-of-%d", len(made), len(names)))
	}
	// The last one needn't outlive a power cut: whoever then finds the run lost
	// links it again (see Reconcile).
	var dirs []string
	for _, name := range names[:len(names)-1] {
		dirs = append(dirs, filepath.Dir(name))
	}
	return made, durable.SyncAll(nil, dirs...)
}

func (c *Claim) there(id paddock.RunID) (bool, error) { return durable.Exists(c.s.PathOf(id)) }

func (c *Claim) move(d *Dir, final string) error {
	if err := durable.MakeDir(filepath.Dir(final)); err != nil {
		return err
	}
	c.s.at("day-made")
	if err := record.Move(d, final); err != nil {
		return err
	}
	c.s.at("renamed")
	return durable.SyncDir(filepath.Dir(final))
}
