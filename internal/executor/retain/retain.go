// Package retain removes what is kept of settled runs once there is enough newer,
// so that a state directory can be used for years.
//
// Output, standard input and what was put into quarantine go by age, by number and by
// size, and the record stays; records go by age alone. Everything is told to the journal before it is
// done. Runs that somebody keeps, runs that go on and runs with changes that
// weren't dealt with are passed over.
//
// A [Pass] looks at the runs of the state directory one after the other, newest
// first, in memory that doesn't depend on how many there are; it can be taken in
// steps. Any number of processes may do so at once: each run is decided again
// under a lock.
//
// # Limits
//
// It doesn't ask who may prune or keep; package app does. Whoever reads output
// while it is removed is told that it was.
package retain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/books"
	"paddock/internal/failpoint"
	"paddock/internal/journal"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/rundir/shelf"
	"paddock/internal/workspace/apply/tree/quarantine"
)

// Limits say what is kept.
type Limits = paddock.Retention

// An Item is what was removed, or would be.
type Item struct {
	Run    paddock.RunID       `json:"run"`
	Reason paddock.PruneReason `json:"reason,omitempty"`
	Bytes  int64               `json:"bytes"`
	// Record is set when the record went too.
	Record bool `json:"record"`
	// Compressed is set when the output stays and takes so many bytes less.
	Compressed bool `json:"compressed,omitempty"`
}

// A Keeper prunes and keeps in one state directory.
type Keeper struct {
	State *rundir.State
	// Tell tells the journal. What can't be told isn't done.
	Tell func(ctx context.Context, e journal.Entry) error
	Now  func() time.Time
	// By is the principal id of who asks.
	By string
	// Only says which runs it is about; nil means all.
	Only func(rundir.Sealed) bool
	// Dry only says what would be removed.
	Dry bool
	// At, when set by a test, is called after each step that a crash could follow.
	At func(step string)
}

func (k *Keeper) at(step string) {
	failpoint.Here("prune/" + step)
	if k.At != nil {
		k.At(step)
	}
}

// A Pass goes over all runs once, newest first. The zero Pass is at its beginning.
type Pass struct {
	before paddock.RunID
	runs   int
	bytes  int64
	// Done is set when every run was looked at.
	Done bool
}

// Step goes on with the pass for at most most runs and calls each with what was
// removed. A run that can't be read or removed doesn't keep others from it; the
// error tells of each.
func (k *Keeper) Step(ctx context.Context, p *Pass, l Limits, most int, each func(Item) error) error {
	root := filepath.Join(k.State.Path(), "runs")
	days, err := shelf.Days(root, p.before)
	if err != nil {
		return err
	}
	var faults []error
	for _, day := range days {
		for {
			ids, err := k.State.Newest(day, p.before, min(most, 256))
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				return errors.Join(append(faults, err)...)
			}
			for _, id := range ids {
				if err := ctx.Err(); err != nil {
					return errors.Join(append(faults, err)...)
				}
				p.before = id
				item, err := k.look(ctx, p, l, id)
				if err == nil && item != nil {
					err = each(*item)
				}
				if err != nil && len(faults) < 20 {
					faults = append(faults, fmt.Errorf("run %s: %w", id, err))
				}
			}
			if most -= len(ids); most == 0 {
				return errors.Join(faults...)
			}
			if len(ids) == 0 {
				break
			}
		}
	}
	p.Done = true
	return errors.Join(faults...)
}

// look decides about one run and does it.
func (k *Keeper) look(ctx context.Context, p *Pass, l Limits, id paddock.RunID) (*Item, error) {
	d, err := k.State.Run(id)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	outcome, err := d.Outcome()
	if err != nil || outcome == nil {
		return nil, err
	}
	kept, pruned, err := prune.Of(d.Path())
	if err != nil {
		return nil, err
	}
	if k.Only != nil {
		if sealed, err := d.Sealed(); err != nil || !k.Only(sealed) {
			return nil, err
		}
	}
	if kept != nil {
		return k.compress(ctx, d, outcome, l)
	}
	bytes, files, err := size(d.Path())
	if err != nil {
		return nil, err
	}
	over := k.Now().Sub(outcome.SettledAt)
	switch {
	case l.Records > 0 && over > l.Records:
		// Changes that nobody dealt with keep the record.
		if changed, err := durable.Exists(filepath.Join(d.Path(), "workspace")); err != nil || changed {
			return nil, err
		}
		return k.remove(ctx, d, Item{Run: id, Reason: paddock.PruneRecords, Bytes: bytes, Record: true})
	case pruned != nil && files > 0 && !k.Dry: // a crash came in between
		return nil, k.finish(ctx, d)
	case pruned != nil || files == 0:
		return nil, nil
	case l.Age > 0 && over > l.Age:
		return k.remove(ctx, d, Item{Run: id, Reason: paddock.PruneAge, Bytes: bytes})
	case l.Runs > 0 && p.runs >= l.Runs:
		return k.remove(ctx, d, Item{Run: id, Reason: paddock.PruneRuns, Bytes: bytes})
	}
	// What can't be compressed counts all the same.
	compressed, err := k.compress(ctx, d, outcome, l)
	if compressed != nil {
		bytes -= compressed.Bytes
	}
	if l.Size > 0 && bytes > l.Size-p.bytes {
		item, removeErr := k.remove(ctx, d, Item{Run: id, Reason: paddock.PruneSize, Bytes: bytes})
		return item, errors.Join(err, removeErr)
	}
	p.runs++
	p.bytes += bytes
	return compressed, err
}

// Prune removes the output of one run, because somebody named it. A run that was
// pruned before stays as it is.
func (k *Keeper) Prune(ctx context.Context, id paddock.RunID) (*Item, error) {
	d, err := k.State.Run(id)
	if err != nil {
		return nil, err
	}
	kept, pruned, err := prune.Of(d.Path())
	if err != nil {
		return nil, err
	}
	if kept != nil {
		r := paddock.Refused(paddock.Conflict, "Run %s is kept by %s.", id, kept.By)
		r.Hint = "`paddock unkeep RUN` takes that back."
		return nil, r
	}
	resting, err := k.resting(d)
	if err != nil {
		return nil, err
	}
	if !resting {
		r := paddock.Refused(paddock.Conflict, "Run %s goes on, or its end was just now.", id)
		r.Hint, r.Retryable = "Wait for its end with `paddock wait`, then ask again.", true
		return nil, r
	}
	bytes, _, err := size(d.Path())
	switch {
	case err != nil || pruned != nil && k.Dry:
		return nil, err
	case pruned != nil:
		return nil, k.finish(ctx, d)
	}
	return k.remove(ctx, d, Item{Run: id, Reason: paddock.PruneRequest, Bytes: bytes})
}

// remove carries out what was decided, unless that isn't so any more under the
// lock; then, as for one that isn't resting yet, it returns nil.
func (k *Keeper) remove(ctx context.Context, d *rundir.Dir, item Item) (_ *Item, err error) {
	if resting, err := k.resting(d); err != nil || !resting {
		return nil, err
	}
	if k.Dry {
		return &item, nil
	}
	lock, err := k.lock(ctx, prune.Lock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	kept, pruned, err := prune.Of(d.Path())
	if err != nil || kept != nil || pruned != nil && !item.Record {
		return nil, err
	}
	var principal paddock.Principal
	var key string
	if item.Record {
		// What can't be read stays for somebody to look at.
		sealed, err := d.Sealed()
		if err != nil {
			return nil, ignoreMissing(err)
		}
		principal, key = sealed.Request.Principal, sealed.Request.IdempotencyKey
	}
	err = k.withReserve(func() error {
		return k.Tell(ctx, journal.PruneOf(item.Run, item.Reason, k.By, item.Bytes, item.Record))
	})
	if err != nil {
		return nil, err
	}
	k.at("told")
	if item.Record {
		if err := quarantine.Remove(d.Path()); err != nil {
			return nil, err
		}
		return &item, k.books().Removing(ctx, d, func() error { return k.State.Remove(ctx, d, principal, key) })
	}
	marked := false
	err = k.books().Removing(ctx, d, func() error {
		err := k.withReserve(func() error {
			return prune.Mark(d.Path(), paddock.Pruning{At: k.Now(), Reason: item.Reason, By: k.By, Bytes: item.Bytes})
		})
		marked = err == nil
		return err
	})
	if !marked {
		return nil, err
	}
	k.at("marked")
	return &item, errors.Join(err, k.clear(d.Path()))
}

func (k *Keeper) books() *books.Books { return &books.Books{State: k.State} }

// size is how many bytes, and how many things, go of a run.
func size(path string) (bytes int64, things int, err error) {
	bytes, things, err = prune.Size(path)
	if err != nil {
		return 0, 0, err
	}
	more, there, err := quarantine.Size(path)
	if there {
		things++
	}
	return bytes + more, things, err
}

// clear removes what goes of a run that is marked.
func (k *Keeper) clear(path string) error {
	err := prune.Remove(path, k.at)
	if err == nil {
		err = quarantine.Remove(path)
		k.at("removed-quarantine")
	}
	return err
}

// resting says whether the run is settled and nothing more is to be told of it.
func (k *Keeper) resting(d *rundir.Dir) (bool, error) {
	active, err := durable.Exists(filepath.Join(k.State.Path(), "active", string(d.ID())))
	if err != nil || active {
		return false, err
	}
	return record.Settled(d.Path())
}

// finish removes what a crash left of a pruned run's output.
func (k *Keeper) finish(ctx context.Context, d *rundir.Dir) error {
	lock, err := k.lock(ctx, prune.Lock)
	if err != nil {
		return err
	}
	return errors.Join(k.clear(d.Path()), lock.Close())
}

// Keep has the output of a run stay, also of one that goes on, until Unkeep.
func (k *Keeper) Keep(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	return k.change(ctx, id, func(path string, pruned *paddock.Pruning) error {
		if pruned != nil {
			return paddock.Refused(paddock.Pruned, "The output of run %s was removed at %s, so there is nothing to keep.", id, pruned.At.UTC().Format(time.RFC3339))
		}
		return prune.Keep(path, paddock.Keeping{At: k.Now(), By: k.By})
	})
}

// Unkeep lets the output of a run be removed again.
func (k *Keeper) Unkeep(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	return k.change(ctx, id, func(path string, _ *paddock.Pruning) error { return prune.Unkeep(path) })
}

func (k *Keeper) change(ctx context.Context, id paddock.RunID, do func(path string, pruned *paddock.Pruning) error) (paddock.Run, error) {
	lock, err := k.lock(ctx, prune.Lock)
	if err != nil {
		return paddock.Run{}, err
	}
	d, err := k.State.Run(id)
	if err == nil {
		var pruned *paddock.Pruning
		if _, pruned, err = prune.Of(d.Path()); err == nil {
			err = do(d.Path(), pruned)
		}
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return paddock.Run{}, err
	}
	return d.Record(k.Now())
}

// lock waits for a lock: that of those who prune and keep, who remove one run's
// files, or that of those who pack, who may take minutes.
func (k *Keeper) lock(ctx context.Context, take func(state string) (*os.File, error)) (*os.File, error) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if f, err := take(k.State.Path()); f != nil || err != nil {
			return f, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
