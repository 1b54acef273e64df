// Package roster says which runs there are, and which go on.
//
// # Limits
//
// It goes by their records and settles none: a run whose supervisor has vanished
// goes on until somebody reconciles.
package roster

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"paddock"
	"paddock/internal/rundir"
)

// A Roster is that of one state directory.
type Roster struct {
	state *rundir.State
	run   func(ctx context.Context, id paddock.RunID) (paddock.Run, error)
}

// New returns the Roster of state; run reads the record of a run.
func New(state *rundir.State, run func(ctx context.Context, id paddock.RunID) (paddock.Run, error)) Roster {
	return Roster{state, run}
}

// List returns up to limit runs that are wanted, newest first, of those made
// before the run before (all, when that is empty). next is the before of the
// following page, also of one that had to stop looking; empty when no run is left. Runs that can't be read are left
// out and told of by an error of type *[rundir.Unreadable].
func (r Roster) List(ctx context.Context, before paddock.RunID, limit int, w rundir.Wanted) (runs []paddock.Run, next paddock.RunID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	return r.state.List(before, limit, w)
}

// Count returns how many of p's runs go on, and how many are settled without p
// having been given their end.
func (r Roster) Count(ctx context.Context, p paddock.Principal) (running, finished int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	return r.state.Unseen(p)
}

// Active returns the runs that aren't settled, oldest first. Runs that can't be
// read are told of by an error of type *[rundir.Unreadable].
func (r Roster) Active(ctx context.Context) ([]paddock.Run, error) {
	ids, err := r.state.ListActive()
	if err != nil {
		return nil, err
	}
	var runs []paddock.Run
	var broken []error
	for _, id := range ids {
		run, err := r.run(ctx, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			broken = append(broken, err)
		case !run.State.Settled():
			runs = append(runs, run)
		}
	}
	if broken != nil {
		return runs, &rundir.Unreadable{Runs: broken}
	}
	return runs, nil
}

// ListActive is List for runs that aren't settled. Its cost depends on how many
// those are and not on how many there have been.
func (r Roster) ListActive(ctx context.Context, before paddock.RunID, limit int, w rundir.Wanted) (runs []paddock.Run, next paddock.RunID, err error) {
	active, err := r.Active(ctx)
	slices.Reverse(active)
	for _, run := range active {
		if before != "" && run.ID >= before || !w.Has(run) {
			continue
		}
		if len(runs) == limit {
			return runs, runs[limit-1].ID, err
		}
		runs = append(runs, run)
	}
	return runs, "", err
}

// Again returns the run that req's idempotency key stands for already; empty where
// there is none.
func (r Roster) Again(ctx context.Context, req paddock.Request) (id paddock.RunID, err error) {
	if req.IdempotencyKey == "" {
		return "", nil
	}
	err = r.state.Claim(ctx, func(c *rundir.Claim) (err error) {
		id, err = Keyed(c, req)
		return err
	})
	return id, err
}

// Keyed returns the run of req's key, if there is one and it was made for the
// same request.
func Keyed(c *rundir.Claim, req paddock.Request) (paddock.RunID, error) {
	if req.IdempotencyKey == "" {
		return "", nil
	}
	id, digest, found, err := c.Key(req.Principal, req.IdempotencyKey)
	if err != nil || !found {
		return "", err
	}
	if digest != req.Digest() {
		return "", paddock.Refused(paddock.Conflict, "The idempotency key was used for a different request, which became run %s.", id)
	}
	return id, nil
}

// Seen notes that p was given the end of its run.
func (r Roster) Seen(p paddock.Principal, id paddock.RunID) error {
	return r.state.MarkSeen(p, id)
}
