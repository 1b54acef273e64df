// Package hands lets a worker of package lease carry out runs by the executor: with
// this machine's policy, in this machine's state directory.
//
// Supervisors of leased runs end them by themselves when they aren't told in time that
// they may go on. So whatever becomes of this process, a run is over when others say
// that it is lost.
//
// # Limits
//
// It believes the orders that it is given: package lease looked at their signatures and
// noted their nonces. Whoever may see a run is asked elsewhere.
package hands

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"paddock"
	"paddock/internal/control/boot"
	"paddock/internal/executor"
	"paddock/internal/lease"
	"paddock/internal/lease/order"
	"paddock/internal/store"
	"paddock/internal/trace"
)

// patience is how long a supervisor has to take note of something.
const patience = 3 * time.Second

// A Config says what Hands work with. Executor must be set.
type Config struct {
	Executor *executor.Executor
	// Lasting leases have no end: for one machine alone, of which nobody else could
	// say that it is silent.
	Lasting bool
	// Changed is called when a run was started or has ended; nil means that nobody
	// wants to know.
	Changed func()
	// Warn is told what goes wrong with one run; nil means nobody is.
	Warn func(error)
	// Traces is told how long things took, by which Worker; nil isn't. Now is set then.
	Traces *trace.Tracer
	Worker string
	Now    func() time.Time
}

// Hands are a [lease.Hands]. They must be made with [New].
type Hands struct {
	Config
	life context.Context // until Close
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	busy    map[string]bool                 // what is being told to which run; guarded by mu
	watched map[paddock.RunID]bool          // runs whose end is waited for; guarded by mu
	traced  map[paddock.RunID]trace.Context // what runs are a part of; guarded by mu
}

var _ lease.Hands = (*Hands)(nil)

// New returns Hands, which Close lets go of the runs. Runs go on.
func New(ctx context.Context, c Config) *Hands {
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	h := &Hands{Config: c, busy: map[string]bool{}, watched: map[paddock.RunID]bool{}, traced: map[paddock.RunID]trace.Context{}}
	h.life, h.end = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

// Close waits for what is being told.
func (h *Hands) Close() {
	h.end()
	h.work.Wait()
}

// Launch implements lease.Hands. That its context ends doesn't end the run.
func (h *Hands) Launch(ctx context.Context, o order.Order, until time.Time) error {
	req := o.Request
	// The key was looked at by the front door, for all machines.
	req.IdempotencyKey, req.Tied, req.Room = "", false, ""
	if req.Digest() != o.Digest {
		return fmt.Errorf("order of run %s: a front door orders no command of a room of the house", o.Run)
	}
	part := h.begun(o)
	_, err := h.Executor.StartLeased(context.WithoutCancel(ctx), o.Run, h.deadline(until), req)
	var refused *paddock.Refusal
	if err != nil && !errors.As(err, &refused) && !errors.Is(err, fs.ErrExist) {
		if _, there := h.Executor.Run(ctx, o.Run); there == nil {
			h.Warn(fmt.Errorf("run %s: %w", o.Run, err))
			err = nil // the directory has how it ended
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if left := h.Executor.Leases.Drop(o.Run); left != nil { // it never came to be
			err = errors.Join(err, left)
		}
	}
	h.started(ctx, o, part, err)
	if err == nil {
		h.watch(o.Run)
		h.Changed()
	}
	return err
}

// deadline is a time of a process as one of the boot clock, which is read first: what
// passes between only makes it earlier.
func (h *Hands) deadline(until time.Time) time.Duration {
	if h.Lasting {
		return 0 // no lease, as its supervisor sees it
	}
	now := boot.Clock()
	// By this process's clock and by the wall's: the first doesn't count sleep, the
	// second may be set. The nearer one is right, or early.
	return now + min(time.Until(until), time.Until(until.Round(0)))
}

// Look implements lease.Hands.
func (h *Hands) Look(ctx context.Context, id paddock.RunID) (lease.Found, error) {
	run, err := h.Executor.Run(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return lease.Found{}, nil
	}
	if err != nil {
		return lease.Found{}, err
	}
	f := lease.Found{Here: true, Heads: store.Heads{
		StdoutBytes: run.Stdout.Bytes, StderrBytes: run.Stderr.Bytes, StdoutDigest: run.Stdout.Digest, StderrDigest: run.Stderr.Digest,
	}}
	if run.StartedAt != nil {
		f.Started = *run.StartedAt
	}
	h.known(run)
	if run.Outcome == nil {
		h.watch(id)
		return f, nil
	}
	f.End, err = verdict(*run.Outcome)
	return f, err
}

// verdict is how a run ended, as a row keeps it: what the directory says, without the
// longer lists where these are too long.
func verdict(o paddock.Outcome) (*store.Verdict, error) {
	text, err := json.Marshal(o, json.Deterministic(true))
	if err == nil && len(text) > store.MostOutcome {
		o.Denied, o.Deeper = nil, nil
		text, err = json.Marshal(o, json.Deterministic(true))
	}
	return &store.Verdict{State: o.State, Outcome: text, At: store.At(o.SettledAt)}, err
}

// Live implements lease.Hands. What is over, or never came to be, is forgotten. A lease of
// this process without a run is of one that is being started at this moment: without the
// lease its supervisor would have nothing that ends it.
func (h *Hands) Live(ctx context.Context) ([]paddock.RunID, error) {
	ids, err := h.Executor.Leases.All()
	if err != nil {
		return nil, err
	}
	var live []paddock.RunID
	for _, id := range ids {
		run, err := h.Executor.Run(ctx, id)
		switch {
		case errors.Is(err, fs.ErrNotExist) && h.Executor.Leases.Ours(id):
			err = nil
		case errors.Is(err, fs.ErrNotExist) || err == nil && run.State.Settled():
			if err == nil {
				h.known(run) // with the lease its trace is forgotten
			}
			err = h.Executor.Leases.Drop(id)
		case err == nil:
			live = append(live, id)
		}
		if err != nil {
			return nil, err
		}
	}
	return live, nil
}

// Extend implements lease.Hands. A supervisor that doesn't answer holds nobody up: its
// run ends when its lease does.
func (h *Hands) Extend(_ context.Context, id paddock.RunID, until time.Time) error {
	at := h.deadline(until)
	h.Executor.Leases.Extend(id, at)
	if h.Lasting {
		return nil // its supervisor knows
	}
	h.tell(id, "extend", func(ctx context.Context) error { return h.Executor.Extend(ctx, id, at) })
	return nil
}

// Kill implements lease.Hands.
func (h *Hands) Kill(_ context.Context, id paddock.RunID, by, why string) error {
	h.tell(id, "end", func(ctx context.Context) error {
		_, err := h.Executor.Kill(ctx, id, executor.Ending{Kind: paddock.ReasonKill, Signal: "TERM", By: by, Why: why})
		return err
	})
	return nil
}

// tell does something beside everything else, unless the same is still being done.
func (h *Hands) tell(id paddock.RunID, what string, do func(context.Context) error) {
	key := what + " " + string(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[key] || h.life.Err() != nil {
		return
	}
	h.busy[key] = true
	h.work.Go(func() {
		defer func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.busy, key)
		}()
		ctx, cancel := context.WithTimeout(h.life, patience+executor.Grace)
		defer cancel()
		if err := do(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) && h.life.Err() == nil {
			h.Warn(fmt.Errorf("%s run %s: %w", what, id, err))
		}
	})
}

// watch says when the run has ended.
func (h *Hands) watch(id paddock.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watched[id] || h.life.Err() != nil {
		return
	}
	h.watched[id] = true
	h.work.Go(func() {
		err := h.Executor.Settled(h.life, id)
		h.mu.Lock()
		delete(h.watched, id)
		h.mu.Unlock()
		if err == nil {
			h.over(id)
			h.Changed()
		} else if h.life.Err() == nil {
			h.Warn(fmt.Errorf("run %s: %w", id, err))
		}
	})
}
