// Package notes is what the executor tells the journal: what it decided, what it
// is about to start, who asked for an end, and the ends of runs that nobody else
// could tell.
//
// A start is told before it is one, and can't be one untold. Everything else
// happened or was refused anyway: when that can't be told, the caller's answer
// stays the same and Warn hears of it.
//
// # Limits
//
// It decides nothing. What it tells was composed from records; values of
// environment variables and standard input aren't among it.
package notes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/journal"
	"paddock/internal/journal/short/asked"
	"paddock/internal/journal/writer"
	"paddock/internal/rundir"
)

// patience is how long others may hold the journal's lock.
const patience = 10 * time.Second

// Notes writes to the journal of one state directory. Its methods may be called
// concurrently.
type Notes struct {
	dir  string
	w    *writer.Writer
	now  func() time.Time
	warn func(error)
	life context.Context // for what nobody in particular asks for

	mu   sync.Mutex
	seen map[paddock.Digest]bool // policies that the journal has; guarded by mu
	// broken is the text of the last change of a policy that didn't count; guarded by mu.
	broken paddock.Digest
	// readings are of who reads output without masks; guarded by mu.
	readings map[reader]reading
}

// Open opens the journal of the state directory, and has itself called for runs
// whose end may not be told. Canceling ctx ends what is told then.
func Open(ctx context.Context, state *rundir.State, now func() time.Time, warn func(error), opt writer.Options) (*Notes, error) {
	dir := journal.Dir(state.Path())
	opt.Now = now
	w, err := writer.Open(dir, opt)
	if err != nil {
		return nil, err
	}
	n := &Notes{dir: dir, w: w, now: now, warn: warn, life: ctx, seen: map[paddock.Digest]bool{}, readings: map[reader]reading{}}
	state.OnEnd(n.ended)
	return n, nil
}

// Dir is the journal's directory.
func (n *Notes) Dir() string { return n.dir }

// Close tells what is still to be told, and lets go of the journal.
func (n *Notes) Close() error {
	ctx, cancel := bounded(n.life)
	defer cancel()
	return errors.Join(n.glances(ctx, true), n.w.Close())
}

// Start tells that a run was allowed and is about to be made.
func (n *Notes) Start(ctx context.Context, id paddock.RunID, req paddock.Request, d paddock.Decision) error {
	return n.withPolicy(ctx, d.PolicyDigest, func() ([]journal.Entry, error) {
		return []journal.Entry{journal.StartOf(id, req, d)}, nil
	})
}

// Prepare prepares the run's directory and tells the journal, at once where
// both wait for a disk: else the run's supervisor, which makes ready meanwhile, needs the
// other processor more. Without either there is no run.
func (n *Notes) Prepare(ctx context.Context, state *rundir.State, id paddock.RunID, rec rundir.Intent) (*rundir.Dir, error) {
	noted := make(chan error, 1)
	start := func() { noted <- n.Start(ctx, id, rec.Request, rec.Decision) }
	beside := state.Waits()
	if beside {
		go start()
	}
	dir, err := state.Prepare(ctx, id, rec)
	if !beside {
		start()
	}
	untold := <-noted
	if err == nil && untold == nil {
		return dir, nil
	}
	if dir != nil {
		err = errors.Join(err, dir.Abandon())
	}
	err = errors.Join(untold, err)
	if untold == nil {
		n.Abandoned(ctx, id, err)
	}
	return nil, err
}

// Abandoned tells that the run wasn't made after all.
func (n *Notes) Abandoned(ctx context.Context, id paddock.RunID, why error) {
	n.tell(ctx, journal.AbandonedOf(id, why))
}

// Kill tells that somebody asks for the end of a run that isn't settled.
func (n *Notes) Kill(ctx context.Context, dir *rundir.Dir, kind paddock.ReasonKind, signal, by, why string) {
	if outcome, err := dir.Outcome(); err != nil || outcome == nil {
		n.tell(ctx, journal.KillOf(dir.ID(), kind, signal, by, why))
	}
}

// Prune tells that something of a settled run is about to be removed. What can't
// be told isn't removed.
func (n *Notes) Prune(ctx context.Context, e journal.Entry) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return n.w.Append(ctx, e)
}

// Approval tells a step of what persons are asked about, before it is one. What can't
// be told isn't done.
func (n *Notes) Approval(ctx context.Context, step string, a paddock.Approval, run paddock.RunID, vote *paddock.Vote, envelope paddock.Digest) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	return n.w.Append(ctx, journal.ApprovalOf(a.Matter.Principal, run, asked.Of(step, a, vote, envelope)))
}

func (n *Notes) tell(ctx context.Context, e journal.Entry) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := n.w.Append(ctx, e); err != nil {
		n.warn(err)
	}
}

// bounded is for what has happened and must be told even if who asked is gone.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}

// withPolicy adds entries, and before them that the policy was met, if the
// journal doesn't have that yet.
func (n *Notes) withPolicy(ctx context.Context, policy paddock.Digest, choose func() ([]journal.Entry, error)) error {
	mark := filepath.Join(n.dir, "policy", policy.Hex())
	known := policy == "" || n.knows(policy)
	err := n.w.AppendWhere(ctx, func() ([]journal.Entry, error) {
		entries, err := choose()
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		if !known {
			if _, err := os.Lstat(mark); err != nil {
				seen := journal.Entry{Kind: journal.PolicySeen, Policy: &journal.PolicyDetail{Digest: policy}}
				return append([]journal.Entry{seen}, entries...), nil //nolint:nilerr // it may be told twice, never not at all
			}
		}
		return entries, nil
	})
	if err != nil || known {
		return err
	}
	// Without the mark the policy is told again, which is no harm.
	if err := makeMark(mark); err != nil {
		n.warn(fmt.Errorf("journal: %w", err))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[policy] = true
	return nil
}

func (n *Notes) knows(policy paddock.Digest) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen[policy]
}

func makeMark(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|journal.Guarded, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// NeverStarted settles a run that has no supervisor and tells its end. We hold
// its lock, and let go of it.
func (n *Notes) NeverStarted(ctx context.Context, dir *rundir.Dir, state paddock.State, reason paddock.Reason) (paddock.Run, error) {
	outcome := paddock.Outcome{State: state, Reason: reason, EndedAt: n.now()}
	bank, err := artifact.Create(dir.Path(), artifact.Options{Cap: 1, Now: n.now})
	if err == nil {
		outcome.Stdout, outcome.Stderr, err = bank.Seal()
		err = errors.Join(err, bank.Close())
	}
	outcome.SettledAt = n.now()
	first, published := dir.PublishOutcome(outcome)
	if first {
		n.tell(ctx, journal.EndOf(dir.ID(), outcome, nil, "", ""))
		published = errors.Join(published, dir.MarkNoted(0))
	}
	if err := errors.Join(err, published, dir.ReleaseLock()); err != nil {
		return paddock.Run{}, fmt.Errorf("run %s: %w", dir.ID(), err)
	}
	return dir.Record(n.now())
}

// Unwritable refuses what would have to be written down; nil where why is nil.
func Unwritable(why error) error {
	if why == nil {
		return nil
	}
	r := paddock.Refused(paddock.Unrecordable, "Nothing can be written down here: %v.", why)
	r.Hint = "Name another state directory with --state, or do this as the user whose it is."
	return r
}
