// Package books keeps in a state directory what principals have used, for the quotas
// of the policy: a file for each, and one of all together.
//
//	STATE/usage/lock        held while a file is changed
//	STATE/usage/total.json  what all together have used
//	STATE/usage/HASH.json   what one principal has used
//	STATE/usage/days/       the sums of days that are over
//	STATE/usage/removing    held while something is removed
//
// Nobody writes it before a policy has quotas, and everybody does from then on. A
// run is noted before it exists, with all that it may print, and is counted by what
// its outcome says when somebody next looks and it is settled; what is noted of a run
// and what is counted of it change in one step, so it is counted once, whoever is
// ended in between. In the same way room that is made by removing output is given
// back once.
//
// All of it follows from the runs' directories, so nothing is made durable: what is
// missing, broken or of an earlier start of the machine is made again from them. Of a
// day whose runs all ended long ago there is a sum, so that takes the longer the more
// runs there were since yesterday, and not the more there ever were.
//
// # Limits
//
// It refuses nothing: a policy does, by what is told here. Runs whose record was
// removed are forgotten when the books are made again, also those of the last day.
package books

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/failpoint"
	"paddock/internal/policy/known/usage"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/rundir/record/process"
)

// Dir is the name of the directory in a state directory, and Lock of its lock.
const (
	Dir  = "usage"
	Lock = "lock"
)

// total is the name of the file of all together; a principal's is its hash.
const total = "total"

// A file is the JSON of each.
type file struct {
	Version int `json:"version"`
	// Boot is the start of the machine in which it was written.
	Boot string `json:"boot"`
	// Made is another word whenever all of it is made again.
	Made  string      `json:"made"`
	Usage usage.Usage `json:"usage"`
}

func (f *file) FileVersion() int { return f.Version }

// Books are those of one state directory. Their methods may be called concurrently,
// in any number of processes.
type Books struct {
	State *rundir.State
	// At, when set by a test, is called after each step that a crash could follow.
	At func(step string)
}

func (b *Books) at(step string) {
	failpoint.Here("books/" + step)
	if b.At != nil {
		b.At(step)
	}
}

func (b *Books) path(name string) string {
	return filepath.Join(b.State.Path(), Dir, name+".json")
}

// Open reports whether use is noted here.
func (b *Books) Open() (bool, error) {
	return durable.Exists(filepath.Join(b.State.Path(), Dir))
}

// Look returns what p and all together have used until now, as it is known by now:
// runs that are over are counted. The caller has the claim.
func (b *Books) Look(ctx context.Context, _ *rundir.Claim, p paddock.Principal, now time.Time) (usage.Facts, error) {
	f := usage.Facts{Now: now}
	err := b.locked(ctx, func() error {
		all, mine, err := b.current(ctx, p, now)
		if err == nil {
			f.Principal, f.Total = mine.Usage, all.Usage
		}
		return err
	})
	return f, err
}

// Note notes that p's run id, counted as so many runs at at, is about to be made and
// may print reserved bytes. The caller has the claim and publishes the run before it
// lets go of it.
func (b *Books) Note(ctx context.Context, _ *rundir.Claim, p paddock.Principal, id paddock.RunID, at time.Time, runs int, reserved int64) error {
	if open, err := b.Open(); err != nil || !open {
		return err
	}
	return b.locked(ctx, func() error {
		all, mine, err := b.current(ctx, p, at)
		if err != nil {
			return err
		}
		for _, one := range []account{{record.Hash(p), mine}, {total, all}} {
			one.note(id, usage.Open{At: usage.Begin(at), Runs: runs, Reserved: reserved})
			if err := b.write(one); err != nil {
				return err
			}
			b.at("noted-" + kind(one.name))
		}
		return nil
	})
}

// An account is one of the files.
type account struct {
	name string
	*file
}

func kind(name string) string {
	if name == total {
		return total
	}
	return "principal"
}

func (a account) note(id paddock.RunID, o usage.Open) {
	if a.Usage.Open == nil {
		a.Usage.Open = map[paddock.RunID]usage.Open{}
	}
	a.Usage.Open[id] = o
	a.Usage.Add(o.At, o.Runs, 0, 0)
}

// current reads what there is of p and of all together, makes it again if need be,
// and brings both up to date. The caller has the claim and the lock.
func (b *Books) current(ctx context.Context, p paddock.Principal, now time.Time) (all, mine *file, err error) {
	all, mine, err = b.read(p)
	if err != nil || all == nil || mine == nil {
		if err := b.make(ctx, p, now); err != nil {
			return nil, nil, err
		}
		if all, mine, err = b.read(p); err != nil || all == nil || mine == nil {
			return nil, nil, fmt.Errorf("what was used can't be written down: %w", cmp.Or(err, errors.New("it isn't there afterwards")))
		}
	}
	for _, one := range []account{{record.Hash(p), mine}, {total, all}} {
		changed, err := b.update(one, true)
		if err != nil {
			return nil, nil, err
		}
		one.Usage.Forget(now)
		if changed {
			if err := b.write(one); err != nil {
				return nil, nil, err
			}
			b.at("counted-" + kind(one.name))
		}
	}
	return all, mine, nil
}

// read returns the files as they are; nil is one that has to be made again. A
// principal that never had a run has used nothing.
func (b *Books) read(p paddock.Principal) (all, mine *file, err error) {
	if all, err = b.load(total); err != nil || all == nil {
		return nil, nil, err
	}
	name := record.Hash(p)
	if mine, err = b.load(name); err != nil || mine != nil {
		if mine != nil && mine.Made != all.Made {
			mine = nil
		}
		return all, mine, err
	}
	if _, err := os.Lstat(b.path(name)); !errors.Is(err, fs.ErrNotExist) {
		return all, nil, nil
	}
	known, err := durable.Exists(links.Index{State: b.State.Path()}.Owned(name))
	if err != nil || known {
		return all, nil, err
	}
	return all, &file{Version: durable.Version, Boot: process.BootID(), Made: all.Made}, nil
}

// load reads one file; nil if it isn't there, is broken, or of an earlier start of
// the machine, which may have ended before all of it was on the disk.
func (b *Books) load(name string) (*file, error) {
	f := new(file)
	if err := durable.ReadJSON(b.path(name), f); err != nil || f.Usage.Valid() != nil || f.Boot != process.BootID() || f.Made == "" {
		return nil, nil //nolint:nilerr // it is made again
	}
	return f, nil
}

func (b *Books) write(a account) error {
	text, err := durable.EncodeJSON(a.file, true)
	if err == nil {
		err = durable.Place(b.path(a.name), text)
	}
	if err != nil {
		return fmt.Errorf("what was used can't be written down: %w", err)
	}
	return nil
}

// update counts what ended meanwhile, and gives back what was removed. With claimed,
// nobody is about to make a run, so one that isn't there never was.
func (b *Books) update(a account, claimed bool) (changed bool, err error) {
	for id, o := range a.Usage.Open {
		end, there, err := b.end(id)
		switch {
		case err != nil:
			return changed, err
		case !there && claimed:
			a.Usage.Add(o.At, -o.Runs, 0, 0)
		case end == nil:
			continue
		default:
			a.count(*end)
		}
		delete(a.Usage.Open, id)
		changed = true
	}
	for id, bytes := range a.Usage.Leaving {
		end, there, err := b.end(id)
		if err != nil {
			return changed, err
		}
		if !there || end != nil && end.kept == 0 {
			a.Usage.Kept = max(0, a.Usage.Kept-bytes)
			delete(a.Usage.Leaving, id)
			changed = true
		}
	}
	return changed, nil
}

// An end is what is counted of a run that is over.
type end struct {
	at     int64
	output int64
	kept   int64 // of that, what wasn't removed
	cpu    paddock.Duration
}

func (a account) count(e end) {
	a.Usage.Add(e.at, 0, e.output, e.cpu)
	a.Usage.Kept += e.kept
}

// end says whether the run is there, and what is counted of it; nil while it goes on.
func (b *Books) end(id paddock.RunID) (_ *end, there bool, err error) {
	d, err := b.State.Run(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	e, err := endOf(d)
	return e, true, err
}

func endOf(d *rundir.Dir) (*end, error) {
	o, err := d.Outcome()
	if err != nil || o == nil {
		return nil, err
	}
	_, pruned, err := prune.Of(d.Path())
	if err != nil {
		return nil, err
	}
	e := &end{at: usage.Begin(o.SettledAt), output: o.Stdout.Bytes + o.Stderr.Bytes, cpu: o.CPU}
	if pruned == nil {
		e.kept = e.output
	}
	return e, nil
}

// locked waits for the lock and calls do with it.
func (b *Books) locked(ctx context.Context, do func() error) (err error) {
	dir := filepath.Join(b.State.Path(), Dir)
	if err := durable.MakeDir(dir); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, Lock), os.O_RDWR|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, durable.Unlock(f), f.Close()) }()
	if err := durable.WaitLock(ctx, f); err != nil {
		return err
	}
	return do()
}
