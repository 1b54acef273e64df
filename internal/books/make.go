package books

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"paddock"
	"paddock/internal/books/days"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/process"
	"paddock/internal/rundir/shelf"
)

// Make makes all of it again from the runs. The caller has the claim.
func (b *Books) Make(ctx context.Context, _ *rundir.Claim, now time.Time) error {
	return b.locked(ctx, func() error {
		if err := b.days().DropAll(); err != nil {
			return err
		}
		return b.make(ctx, paddock.Principal{}, now)
	})
}

// make is Make, for one who has the lock. There is a file of p afterwards, whether it
// has used anything or not. What is there isn't believed until the last file is.
func (b *Books) make(ctx context.Context, p paddock.Principal, now time.Time) error {
	if err := durable.Remove(b.path(total)); err != nil {
		return err
	}
	b.at("unmade")
	var all map[string]*usage.Usage
	err := b.days().Alone(func(may bool) (err error) {
		all, err = b.count(ctx, now, true, may)
		return err
	})
	if err != nil {
		return err
	}
	if p != (paddock.Principal{}) && all[record.Hash(p)] == nil {
		all[record.Hash(p)] = &usage.Usage{}
	}
	if err := b.others(all); err != nil {
		return err
	}
	made := durable.RandomHex(8)
	one := func(name string) error {
		return b.write(account{name, &file{Version: durable.Version, Boot: process.BootID(), Made: made, Usage: *all[name]}})
	}
	for name := range all {
		if name == total {
			continue
		}
		if err := one(name); err != nil {
			return err
		}
		b.at("made-principal")
	}
	defer b.at("made-total")
	return one(total)
}

// others adds principals that have a file and no runs any more: without one all would
// be made again for each of them. What writers left that were ended is removed.
func (b *Books) others(all map[string]*usage.Usage) error {
	dir := filepath.Join(b.State.Path(), Dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ours := strings.CutSuffix(e.Name(), ".json")
		if ours && record.IsOwner(name) && all[name] == nil {
			all[name] = &usage.Usage{}
		}
		if strings.HasPrefix(e.Name(), durable.TempPrefix) {
			if err := durable.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Recount counts all runs that can be read, for each principal by its hash and for
// all together. It changes nothing.
func (b *Books) Recount(ctx context.Context, now time.Time) (map[string]*usage.Usage, error) {
	return b.count(ctx, now, false, false)
}

// count is Recount, where sums says that days whose sum is written down needn't be
// counted again, and write that it may be written down.
func (b *Books) count(ctx context.Context, now time.Time, sums, write bool) (map[string]*usage.Usage, error) {
	all := map[string]*usage.Usage{total: {}}
	root := filepath.Join(b.State.Path(), "runs")
	list, err := shelf.Days(root, "")
	if err != nil {
		return nil, err
	}
	for _, day := range list {
		if sums {
			if d := b.days().Read(day); d != nil {
				d.Add(total, all)
				continue
			}
		}
		runs := b.days().RunsOf(day)
		ids, err := shelf.Newest(filepath.Join(root, day), "", math.MaxInt)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // not a directory, which a check tells of
		}
		for _, id := range ids {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			b.recount(all, id, now)
		}
		if write {
			if err := b.days().Write(day, b.days().Of(runs, ids, now, over)); err != nil {
				return nil, err
			}
			b.at("summed")
		}
	}
	for _, u := range all {
		u.Forget(now)
	}
	return all, nil
}

// recount counts one run. One that can't be read is told of by a check.
func (b *Books) recount(all map[string]*usage.Usage, id paddock.RunID, now time.Time) {
	d, err := b.State.Run(id)
	if err != nil {
		return
	}
	sealed, err := d.Sealed()
	if err != nil {
		return
	}
	e, err := endOf(d)
	if err != nil {
		return
	}
	owner := record.Hash(sealed.Request.Principal.Root())
	if all[owner] == nil {
		all[owner] = &usage.Usage{}
	}
	o := usage.Open{At: usage.Begin(sealed.CreatedAt), Runs: 1}
	if g := sealed.Decision.Grant(); g != nil {
		o.Reserved = Reserve(g.Limits.Output)
	}
	if len(sealed.Request.Command.Argv) == 0 { // it was given, and no program ran
		o.Runs = 0
	}
	for _, name := range []string{owner, total} {
		a := account{name, &file{Usage: *all[name]}}
		a.note(id, o)
		if e != nil {
			delete(a.Usage.Open, id)
			a.count(*e)
		}
		a.Usage.Forget(now)
		*all[name] = a.Usage
	}
}

// Reserve is how many bytes a run may print whose streams may have most each.
func Reserve(most int64) int64 { return min(2*most, 1<<50) }

// days are the sums of days that are over.
func (b *Books) days() days.Sums {
	return days.Sums{State: b.State, Books: filepath.Join(b.State.Path(), Dir)}
}

// over says whether the run in d is, when, and what it keeps.
func over(d *rundir.Dir) (over bool, at, kept int64) {
	e, err := endOf(d)
	if err != nil || e == nil {
		return false, 0, 0
	}
	return true, e.at, e.kept
}
