package retain

import (
	"context"
	"errors"
	"os"

	"paddock"
	"paddock/internal/executor/retain/pack"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable/prune"
)

// compress has the output of a resting run take less room, if that is asked for,
// and says how much less; nil when nothing changed. What a crash left of it is
// tidied either way.
func (k *Keeper) compress(ctx context.Context, d *rundir.Dir, outcome *paddock.Outcome, l Limits) (_ *Item, err error) {
	if k.Dry {
		return nil, nil
	}
	due := pack.Leftover
	if l.Compress != "" {
		due = pack.Wanted
	}
	if yes, err := due(d.Path()); err != nil || !yes {
		return nil, err
	}
	if resting, err := k.resting(d); err != nil || !resting {
		return nil, err
	}
	lock, err := k.lock(ctx, prune.PackLock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if l.Compress == "" {
		return nil, pack.Undo(d.Path())
	}
	job := pack.Job{Dir: d.Path(), Outcome: outcome, At: k.At, Lock: func(ctx context.Context) (*os.File, error) { return k.lock(ctx, prune.Lock) }}
	saved, err := job.Run(ctx)
	if saved == 0 {
		return nil, ignoreMissing(err)
	}
	return &Item{Run: d.ID(), Bytes: saved, Compressed: true}, err
}
