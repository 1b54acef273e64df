package rundir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
)

// Reconcile makes the directory agree with the world after crashes: runs that
// nobody looks after any more are settled as lost, with the evidence for it,
// and what was prepared and never published is removed. It returns the runs
// that it settled. Any number of processes may do it at once: each run gets one
// outcome. A run that can't be judged doesn't keep others from it; the error
// tells of each.
func (s *State) Reconcile(ctx context.Context, now func() time.Time) ([]paddock.RunID, error) {
	var lost []paddock.RunID
	if s.unwritable != nil {
		return nil, nil //nolint:nilerr // what can only be read is judged by who may write
	}
	var faults []error
	for after := paddock.RunID(""); ; {
		var found []vacancy
		var err error
		found, after, err = s.findVacant(ctx, after)
		if err != nil {
			faults = append(faults, err)
		}
		for i, v := range found {
			var deeper *paddock.Deeper
			if s.lost != nil {
				if deeper, err = s.lost(v.dir); err != nil {
					faults = append(faults, fmt.Errorf("run %s: %w", v.dir.ID(), err))
				}
			}
			first, err := record.SettleLost(ctx, v.dir, now, deeper)
			if first && err == nil {
				err = s.index.Relink(v.owner, v.dir.ID(), v.dir.Path())
			}
			if err == nil && s.ended != nil {
				err = s.ended(v.dir)
			}
			if err = errors.Join(err, v.lock.Close()); err == nil {
				err = s.Claim(ctx, func(*Claim) error { return s.forget(v.dir.ID()) })
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("run %s: %w", v.dir.ID(), err))
			}
			if first {
				lost = append(lost, v.dir.ID())
			}
			if ctx.Err() != nil {
				for _, rest := range found[i+1:] {
					faults = append(faults, rest.lock.Close())
				}
				return lost, errors.Join(faults...)
			}
		}
		if after == "" {
			break
		}
	}
	return lost, errors.Join(append(faults, s.sweep(ctx), durable.SweepNew(s.path, time.Minute))...)
}

// A vacancy is a run that nobody looks after; we hold its lock.
type vacancy struct {
	dir   *Dir
	lock  *os.File
	owner string // the hash of its principal
}

// findVacant judges active entries of ids larger than after. To hold few
// descriptors at once it may stop early: then last is where to go on.
func (s *State) findVacant(ctx context.Context, after paddock.RunID) (found []vacancy, last paddock.RunID, err error) {
	const most = 32
	ids, err := s.activeNames()
	if err != nil || len(ids) == 0 {
		return nil, "", err // the common case takes no lock
	}
	var faults []error
	err = s.Claim(ctx, func(c *Claim) error {
		for _, id := range ids {
			if id <= after {
				continue
			}
			if len(found) == most {
				last = found[most-1].dir.ID()
				break
			}
			v, err := c.judge(id)
			if err != nil {
				faults = append(faults, fmt.Errorf("run %s: %w", id, err))
			}
			if v != nil {
				found = append(found, *v)
			}
		}
		return nil
	})
	return found, last, errors.Join(append(faults, err)...)
}

// judge returns the run when it isn't settled and nobody looks after it.
func (c *Claim) judge(id paddock.RunID) (*vacancy, error) {
	entry, err := c.entry(id)
	if err != nil || entry == nil {
		return nil, err
	}
	d, err := c.s.Run(id)
	if err != nil {
		return nil, err
	}
	f, err := record.Vacant(d)
	if err != nil || f == nil {
		return nil, err
	}
	// Its supervisor may have written the outcome and gone since we looked.
	if settled, err := record.Settled(d.Path()); err != nil || settled {
		return nil, errors.Join(err, f.Close())
	}
	return &vacancy{d, f, entry.Principal}, nil
}

// OnEnd, called before anything else, has fn called with each settled run that
// nobody looks after any more, perhaps again, before it is dropped as active.
func (s *State) OnEnd(fn func(*Dir) error) { s.ended = fn }

// OnLost, called before anything else, has fn called with each run that is about
// to be settled as lost, by one process at a time, and again where that process
// was ended meanwhile. It returns what the outcome has of the run's root. What fn
// can't do is told and keeps no run open.
func (s *State) OnLost(fn func(*Dir) (*paddock.Deeper, error)) { s.lost = fn }

// OnUnborn, called before anything else, has fn called with the id of each run that never
// came to be and whose maker is gone, and with the root of its intent, perhaps again. What
// fn can't do is told by it.
func (s *State) OnUnborn(fn func(id paddock.RunID, root string)) { s.unborn = fn }

// unmake takes away what leads to the temporary directory at path, and has what is left of
// its run elsewhere taken away.
func (s *State) unmake(path, root string) error {
	id, _, _ := strings.Cut(filepath.Base(path), ".")
	if run, err := paddock.ParseRunID(id); err == nil && s.unborn != nil {
		s.unborn(run, root)
	}
	return s.index.DropKey(path)
}

// Over drops the active entry of a run if it is settled and nobody looks after it any more.
func (s *State) Over(ctx context.Context, id paddock.RunID) error {
	return s.Claim(ctx, func(c *Claim) error { _, err := c.entry(id); return err })
}

// forget drops the active entry of a settled run.
func (s *State) forget(id paddock.RunID) error {
	if s.ended != nil {
		d, err := s.Run(id)
		if err != nil {
			return err
		}
		if told, err := record.TellEnd(d, s.ended, time.Now); err != nil || !told {
			return err
		}
	}
	return durable.Remove(s.index.Active(id))
}

// sweep removes temporary directories that nobody has locked. It has the claim,
// so that there is one sweeper at a time.
func (s *State) sweep(ctx context.Context) error {
	tmp := filepath.Join(s.path, tmpDir)
	entries, err := os.ReadDir(tmp)
	if err == nil && len(entries) > 0 {
		err = s.Claim(ctx, func(*Claim) error { return durable.SweepAll(tmp, entries, s.unmake) })
	}
	return err
}
