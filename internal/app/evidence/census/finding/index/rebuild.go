// Package index makes again what leads to the runs of a state directory, from the
// runs alone: entries of those that go on, of ends that weren't read and of
// idempotency keys, and the marks of lines.
//
// # Limits
//
// It mends no record, and takes nothing away but entries that lead nowhere and
// what is in their places.
package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"paddock"
	"paddock/internal/artifact/pages/moment/marks"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/links"
	"paddock/internal/rundir/record/durable/prune"
	"paddock/internal/rundir/shelf"
)

// A Change is something that was made again, or taken away because it led nowhere.
type Change struct {
	Run paddock.RunID `json:"run,omitempty"`
	// Path is below the state directory.
	Path    string `json:"path"`
	Removed bool   `json:"removed,omitempty"`
	// Fault says why it couldn't be done; empty where it was.
	Fault string `json:"fault,omitempty"`
}

// A Rebuilt says what came of it.
type Rebuilt struct {
	Runs    int `json:"runs"` // looked at
	Changes int `json:"changes"`
	// Faults is how much couldn't be mended, runs that can't be read among it.
	Faults int `json:"faults"`
}

// atOnce is how many runs are mended before others may have the lock.
const atOnce = 128

// Rebuild makes the index again, and calls each with what it changed.
func Rebuild(ctx context.Context, state *rundir.State, each func(Change) error) (Rebuilt, error) {
	r := &rebuild{state: state, index: links.Index{State: state.Path()}, each: each}
	root := filepath.Join(state.Path(), "runs")
	days, err := shelf.Days(root, "")
	if err != nil {
		return r.Rebuilt, err
	}
	for _, day := range days {
		for before := paddock.RunID(""); ; {
			ids, err := shelf.Newest(filepath.Join(root, day), before, atOnce)
			if err != nil || len(ids) == 0 {
				break // gone meanwhile, or not a directory, which a check tells of
			}
			before = ids[len(ids)-1]
			if err := r.some(ctx, ids); err != nil {
				return r.Rebuilt, err
			}
		}
	}
	if err := r.used(ctx); err != nil {
		return r.Rebuilt, err
	}
	return r.Rebuilt, r.clear(ctx)
}

type rebuild struct {
	state *rundir.State
	index links.Index
	each  func(Change) error
	Rebuilt
}

func (r *rebuild) changed(run paddock.RunID, path string, removed bool, err error) error {
	ch := Change{Run: run, Path: path, Removed: removed}
	if rel, err := filepath.Rel(r.state.Path(), path); err == nil {
		ch.Path = rel
	}
	if err != nil {
		ch.Fault = err.Error()
		r.Faults++
	} else {
		r.Changes++
	}
	return r.each(ch)
}

// some mends these runs: what leads to them under the claim, and then, which may
// take long, the marks of their lines.
func (r *rebuild) some(ctx context.Context, ids []paddock.RunID) error {
	var over []*rundir.Dir
	err := r.state.Claim(ctx, func(*rundir.Claim) error {
		for _, id := range ids {
			d, err := r.state.Run(id)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			r.Runs++
			if err == nil {
				err = r.entries(d)
			}
			var told tellError
			if errors.As(err, &told) {
				return told.error
			}
			if err != nil {
				if err := r.changed(id, filepath.Join(r.state.Path(), "runs", shelf.Day(id), string(id)), false, err); err != nil {
					return err
				}
				continue
			}
			if settled, err := record.Settled(d.Path()); err == nil && settled {
				over = append(over, d)
			}
		}
		return nil
	})
	for _, d := range over {
		if err == nil {
			err = r.marks(ctx, d)
		}
	}
	return err
}

// A tellError is of telling what was changed, and ends everything.
type tellError struct{ error }

// entries makes what leads to a run.
func (r *rebuild) entries(d *rundir.Dir) error {
	sealed, err := d.Sealed()
	if err != nil {
		return err
	}
	principal := links.Hash(sealed.Request.Principal)
	want := links.EntryOf(durable.Version, d.ID(), sealed.Request.Principal, sealed.RequestDigest)
	if err := r.claim(d, want); err != nil {
		return err
	}
	settled, err := record.Settled(d.Path())
	if err != nil {
		return err
	}
	noted, err := d.Noted()
	if err != nil {
		return err
	}
	var names []string
	if !settled || !noted {
		names = append(names, r.index.Active(d.ID()))
	}
	seen, err := durable.Exists(filepath.Join(d.Path(), links.Seen))
	if err != nil {
		return err
	}
	if !seen {
		if err := durable.MakeDir(r.index.Owned(principal)); err != nil {
			return err
		}
		names = append(names, r.index.Unseen(principal, d.ID()))
	}
	if key := sealed.Request.IdempotencyKey; key != "" {
		names = append(names, r.index.Key(principal, key))
	}
	for _, name := range names {
		if err := r.lead(d, name); err != nil {
			return err
		}
	}
	return nil
}

// claim makes a run's claim.json where it is missing. One that says something else
// than the record is for somebody to look at.
func (r *rebuild) claim(d *rundir.Dir, want links.Entry) error {
	path := filepath.Join(d.Path(), links.Claim)
	is, err := links.Read(path)
	if err == nil && is != want {
		return fmt.Errorf("%s is of another run, principal or request than the record", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := durable.EncodeJSON(want, true)
	if err == nil {
		_, err = durable.Publish(path, b)
	}
	return tell(err, r.changed(d.ID(), path, false, err))
}

// lead makes name lead to the run, unless it does.
func (r *rebuild) lead(d *rundir.Dir, name string) error {
	e, err := links.Read(name)
	if err == nil && e.ID == d.ID() {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		if key := filepath.Base(filepath.Dir(name)) == links.KeysDir; err == nil && key && Astray(r.state, name, true) == "" {
			return fmt.Errorf("its idempotency key is run %s's too: both were made while the index was away, and the key stays that one's", e.ID)
		}
		if err := os.Remove(name); err != nil { // never more than one name, and nothing is followed
			return err
		}
	}
	err = links.Link(d.Path(), name)
	if err == nil {
		err = durable.SyncDir(filepath.Dir(name))
	}
	return tell(err, r.changed(d.ID(), name, false, err))
}

// tell passes on that something couldn't be done, which was told; that it couldn't
// be told ends everything.
func tell(_, told error) error {
	if told != nil {
		return tellError{told}
	}
	return nil
}

// clear takes away entries that lead nowhere, each looked at again while we have
// the claim: then none is of a run that is just about to appear.
func (r *rebuild) clear(ctx context.Context) error {
	return Stray(r.state, func(path, _ string) error {
		return r.state.Claim(ctx, func(*rundir.Claim) error {
			dir := filepath.Base(filepath.Dir(path))
			if dir != links.UnseenDir && Astray(r.state, path, dir == links.KeysDir) == "" {
				return nil
			}
			return r.changed("", path, true, os.Remove(path))
		})
	})
}

// marks makes the marks of the lines of a settled run's output.
func (r *rebuild) marks(ctx context.Context, d *rundir.Dir) error {
	for _, stream := range []paddock.Stream{paddock.Stdout, paddock.Stderr} {
		if fits, err := marks.Marked(d.Path(), stream); err == nil && fits {
			continue
		}
		made, err := r.mark(ctx, d, stream)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !made {
			continue
		}
		if err := r.changed(d.ID(), filepath.Join(d.Path(), string(stream)+".lines"), false, err); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mark makes those of one stream, unless that is being removed.
func (r *rebuild) mark(ctx context.Context, d *rundir.Dir, stream paddock.Stream) (made bool, err error) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := prune.Lock(r.state.Path())
		if err != nil {
			return false, err
		}
		if lock == nil {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
		if _, pruned, err := prune.Of(d.Path()); err != nil || pruned != nil {
			return false, err
		}
		return marks.Remark(d.Path(), stream)
	}
}
