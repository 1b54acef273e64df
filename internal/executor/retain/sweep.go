package retain

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"paddock/internal/journal"
	"paddock/internal/policy"
	"paddock/internal/policy/wellformed"
	"paddock/internal/rundir"
	"paddock/internal/rundir/record/durable"
	"paddock/internal/rundir/record/durable/prune"
)

const (
	// passEvery is how often the runs are gone over, by whoever comes first.
	passEvery = 10 * time.Minute
	// perTurn is how many runs are looked at in one turn.
	perTurn = 200
	// byPolicy is who prunes where nobody in particular asked.
	byPolicy = "policy"
)

// A Sweeper holds a state directory to what the policy says that is kept of the
// runs in its roots, for as long as somebody gives it turns. It belongs to one
// goroutine.
type Sweeper struct {
	keeper Keeper
	load   func() (*policy.Policy, error)
	pass   *Pass // nil between two
	limits Limits
}

// NewSweeper returns a Sweeper. load gives the policy that applies; while there is
// none nothing is removed.
func NewSweeper(state *rundir.State, tell func(context.Context, journal.Entry) error, now func() time.Time, load func() (*policy.Policy, error)) *Sweeper {
	return &Sweeper{keeper: Keeper{State: state, Tell: tell, Now: now, By: byPolicy}, load: load}
}

// Turn begins a pass if it is time for one, or goes on with the one that was
// begun. Its work is bounded.
func (s *Sweeper) Turn(ctx context.Context) error {
	if s.pass == nil {
		p, refusal := s.load()
		if refusal != nil || p.Judges() != nil || p.Retention() == (Limits{}) {
			return nil //nolint:nilerr // who starts runs tells of a broken policy
		}
		if due, err := s.begin(); err != nil || !due {
			return err
		}
		s.pass, s.limits, s.keeper.Only = &Pass{}, p.Retention(), InRoots(append(p.Roots(), p.ProvidersRoots()...))
	}
	before := s.pass.before
	err := errors.Join(s.keeper.Reserve(), s.keeper.Step(ctx, s.pass, s.limits, perTurn, func(Item) error { return nil }))
	// A run that can't be pruned doesn't end the pass; getting nowhere does.
	if s.pass.Done || err != nil && s.pass.before == before {
		s.pass = nil
	}
	return err
}

// InRoots says of runs whether they are in one of the roots.
func InRoots(roots []string) func(rundir.Sealed) bool {
	return func(r rundir.Sealed) bool {
		g := r.Decision.Grant()
		return g != nil && (slices.Contains(roots, g.Root) || slices.Contains(wellformed.Roots(roots, r.Request.Command.Workspace), g.Root))
	}
}

// begin says whether it is time for a pass, and if so notes that one is begun, so
// that others leave it alone. A note of the future is of a clock that was set.
func (s *Sweeper) begin() (due bool, err error) {
	lock, err := prune.Lock(s.keeper.State.Path())
	if err != nil || lock == nil { // somebody is at it
		return false, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	now, name := s.keeper.Now(), filepath.Join(s.keeper.State.Path(), "swept")
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	case now.Sub(info.ModTime()) < passEvery && !info.ModTime().After(now):
		return false, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|durable.NoFollow, 0o600)
	if err != nil {
		return false, err
	}
	return true, errors.Join(f.Close(), os.Chtimes(name, now, now))
}
