package watch

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/process"
)

// Standing is how runs are, at once or when they are over. All fields must be set.
type Standing struct {
	State *rundir.State
	Hub   *Hub
	Now   func() time.Time
	// Seek settles a run as lost whose supervisor is gone.
	Seek func(context.Context, *rundir.Dir) error
}

// Find returns the run's directory; the error is fs.ErrNotExist when there is none.
func (d *Standing) Find(id paddock.RunID) (*rundir.Dir, error) {
	if dir := d.Hub.Known(id); dir != nil {
		return dir, nil
	}
	return d.State.Run(id)
}

// Principal returns who asked for the run; the error is fs.ErrNotExist when there is none.
func (d *Standing) Principal(id paddock.RunID) (paddock.Principal, error) {
	dir, err := d.Find(id)
	if err != nil {
		return paddock.Principal{}, err
	}
	return dir.Principal()
}

// Wait returns when the run is settled. When ctx ends before, it returns the run
// as it is with ctx's error.
func (d *Standing) Wait(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	dir, err := d.Find(id)
	if err != nil {
		return paddock.Run{}, err
	}
	var waited error
	if d.State.ReadOnly() == nil {
		waited = d.Hub.Settled(ctx, dir)
	} else { // nobody may settle it here
		waited = d.Hub.Await(ctx, dir, func(*Run) (bool, error) {
			run, err := d.State.Look(dir, d.Now())
			return run.State.Settled(), err
		})
	}
	if waited != nil && ctx.Err() == nil {
		return paddock.Run{}, waited
	}
	run, err := d.State.Look(dir, d.Now())
	if err == nil && !run.State.Settled() {
		err = waited
	}
	return Questioned(dir, run), err
}

// Settled returns when the run is settled, or with ctx's error.
func (d *Standing) Settled(ctx context.Context, id paddock.RunID) error {
	dir, err := d.Find(id)
	if err != nil {
		return err
	}
	return d.Hub.Settled(ctx, dir)
}

// Run returns the run as of now; the error is fs.ErrNotExist when there is none.
// A run whose supervisor is known to be gone is settled as lost first.
func (d *Standing) Run(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	dir, err := d.Find(id)
	if err != nil {
		return paddock.Run{}, err
	}
	run, err := d.State.Look(dir, d.Now())
	if err != nil || run.State.Settled() || run.Supervisor == nil || process.Alive(*run.Supervisor) {
		return Questioned(dir, run), err
	}
	if err := d.Seek(ctx, dir); err != nil {
		return paddock.Run{}, err
	}
	return dir.Record(d.Now())
}

// Over drops what leads to a run once its supervisor is gone, if it is settled: else
// whoever asks for the next one would wait for that. What goes wrong is told to warn.
func (d *Standing) Over(life context.Context, id paddock.RunID, gone <-chan struct{}, warn func(error)) {
	select {
	case <-gone:
		if err := d.State.Over(life, id); err != nil && life.Err() == nil {
			warn(err)
		}
	case <-life.Done():
	}
}
