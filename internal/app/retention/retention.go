// Package retention has the verbs about what stays of settled runs: to keep
// the output of one, and to prune.
//
// # Limits
//
// All of it is the operator's, since it is about everybody's runs. It starts no
// run and settles none.
package retention

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"paddock"
	"paddock/internal/executor/notes"
	"paddock/internal/executor/retain"
	"paddock/internal/journal/writer"
	"paddock/internal/policy"
	"paddock/internal/rundir"
)

// The words of package retain.
type (
	// Limits say what is kept.
	Limits = retain.Limits
	// An Item is what was removed, or would be.
	Item = retain.Item
)

// Retention is that of one state directory. See [Open].
type Retention struct {
	keeper retain.Keeper
	notes  *notes.Notes
}

// Open opens the state directory at path for p, who closes it again. warn is told
// what goes wrong in the background.
func Open(ctx context.Context, p paddock.Principal, path string, now func() time.Time, warn func(error)) (*Retention, error) {
	if p.Kind != paddock.Operator || p.ID == "" {
		return nil, paddock.Refused(paddock.Forbidden, "Only an operator may say what is kept.")
	}
	state, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	n, err := notes.Open(ctx, state, now, warn, writer.Options{})
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	r := &Retention{retain.Keeper{State: state, Tell: n.Prune, Now: now, By: p.ID}, n}
	// Ends that nobody told yet are told, so that those runs can be pruned too.
	err = state.Claim(ctx, func(c *rundir.Claim) error {
		_, err := c.Active(p)
		return err
	})
	if err == nil {
		err = r.keeper.Reserve()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close lets go of the state directory.
func (r *Retention) Close() error { return errors.Join(r.notes.Close(), r.keeper.State.Close()) }

// step is how many runs are looked at before somebody else may have a turn.
const step = 1000

// Prune removes what the limits don't keep, and calls each with it as it goes.
// With dry nothing is removed.
func (r *Retention) Prune(ctx context.Context, l Limits, dry bool, each func(Item) error) error {
	if l.Age < 0 || l.Runs < 0 || l.Size < 0 || l.Records < 0 {
		return paddock.Refused(paddock.InvalidRequest, "A limit of what is kept is negative.")
	}
	keeper := r.keeper
	keeper.Dry = dry
	var pass retain.Pass
	var faults []error
	for !pass.Done {
		if err := keeper.Step(ctx, &pass, l, step, each); err != nil {
			faults = append(faults, err)
			if ctx.Err() != nil || len(faults) > 20 {
				break
			}
		}
	}
	return errors.Join(faults...)
}

// Says refuses a policy that doesn't limit what is kept.
func Says(p *policy.Policy) error {
	if p.Retention() != (Limits{}) {
		return nil
	}
	r := paddock.Refused(paddock.InvalidRequest, "The policy has no `retention`, and no limits are given, so nothing says what is kept.")
	r.Hint = "Name runs, give --age, --runs, --size or --records, or add `retention` to the policy."
	return r
}

// PrunePolicy removes what p doesn't keep of the runs in its roots.
func (r *Retention) PrunePolicy(ctx context.Context, p *policy.Policy, dry bool, each func(Item) error) error {
	if err := Says(p); err != nil {
		return err
	}
	within := *r
	within.keeper.Only = retain.InRoots(append(p.Roots(), p.ProvidersRoots()...))
	return within.Prune(ctx, p.Retention(), dry, each)
}

// PruneRun removes the output of one settled run, unless that is kept; nil means
// that it was removed before.
func (r *Retention) PruneRun(ctx context.Context, id paddock.RunID, dry bool) (*Item, error) {
	keeper := r.keeper
	keeper.Dry = dry
	item, err := keeper.Prune(ctx, id)
	return item, unknown(err)
}

// Keep has the output of a run stay, whatever is pruned, until Unkeep.
func (r *Retention) Keep(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	run, err := r.keeper.Keep(ctx, id)
	return run, unknown(err)
}

// Unkeep takes that back.
func (r *Retention) Unkeep(ctx context.Context, id paddock.RunID) (paddock.Run, error) {
	run, err := r.keeper.Unkeep(ctx, id)
	return run, unknown(err)
}

func unknown(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return paddock.Refused(paddock.NotFound, "There is no such run.")
	}
	return err
}
