package dispatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"paddock"
	"paddock/internal/dispatch/machine/shift/hint"
	"paddock/internal/dispatch/rows"
	"paddock/internal/lease/order"
	"paddock/internal/store"
	"paddock/internal/trace"
)

// A Placement says by whom a run may be carried out, and when.
type Placement = rows.Placement

// Start queues what req asks for, if this server's policy allows it, and returns the run
// once its program has begun, or as it is when that takes longer.
func (f *Front) Start(ctx context.Context, req paddock.Request) (paddock.Run, error) {
	return f.StartPlaced(ctx, req, Placement{})
}

// StartPlaced is Start for certain workers.
func (f *Front) StartPlaced(ctx context.Context, req paddock.Request, at Placement) (paddock.Run, error) {
	if req.Room != "" || req.Tied || req.Command.ReplaceEnv != nil {
		return paddock.Run{}, fmt.Errorf("%w: a door queues what only its own process can start", paddock.ErrFault)
	}
	if err := at.Check(); err != nil {
		return paddock.Run{}, err
	}
	if f.cfg.Shared {
		at.Needs = append(slices.Clone(at.Needs), order.Signer(&f.cfg.Key.Public))
	}
	at.Roots = f.cfg.Spaces
	part, asked := f.cfg.Traces.Asked(ctx, f.cfg.Now)
	defer asked()
	var policy paddock.Digest
	if f.cfg.Worker != "" {
		d, err := f.explained(ctx, part, req)
		if err != nil {
			return paddock.Run{}, err
		}
		if d.Effect == paddock.Deny {
			return f.App.Start(ctx, req) // which refuses it, and writes that down
		}
		policy = d.PolicyDigest
	}
	row, nonce, err := rows.Entry(req, at, policy, part, f.cfg.Key, f.cfg.Now())
	if err != nil {
		return paddock.Run{}, err
	}
	begun := f.cfg.Now()
	kept, taken, err := f.enqueue(ctx, row, nonce)
	err = at.Agree(kept, err)
	f.cfg.Traces.Done(part, "enqueue", string(row.ID), begun, f.cfg.Now(), err, trace.Text("paddock.run.id", string(row.ID)))
	switch {
	case errors.Is(err, store.ErrConflict):
		return paddock.Run{}, paddock.Refused(paddock.Conflict, "The idempotency key was used for a different request.")
	case errors.Is(err, store.ErrInvalid):
		return paddock.Run{}, paddock.Refused(paddock.InvalidRequest, "The request can't be queued: %v.", err)
	case err != nil:
		return paddock.Run{}, err
	}
	if !taken {
		f.cfg.Queued.Ring()
	}
	return f.begun(ctx, req.Principal, f.record(kept))
}

// explained is what this server's policy says, a moment before a worker's does.
func (f *Front) explained(ctx context.Context, part trace.Context, req paddock.Request) (paddock.Decision, error) {
	begun := f.cfg.Now()
	d, err := f.App.Explain(ctx, req)
	f.cfg.Traces.Done(part, "decide", rand.Text(), begun, f.cfg.Now(), err, trace.Text("paddock.effect", string(d.Effect)))
	return d, err
}

// enqueue queues a run, and says whether the worker of this process took it at once.
func (f *Front) enqueue(ctx context.Context, row store.Run, nonce string) (kept store.Run, taken bool, err error) {
	if f.cfg.Own != nil {
		kept, _, taken, ok, err := f.cfg.Own.Offer(ctx, row, nonce)
		if ok {
			return kept, taken, err
		}
	}
	kept, _, err = f.cfg.Runs.Enqueue(ctx, row, nonce)
	return kept, false, err
}

// begun returns a run that was queued when its program has begun or it is settled, or as it
// was last seen when that takes too long, nobody here starts it, or the database is away: it
// was accepted, whatever comes now.
func (f *Front) begun(ctx context.Context, p paddock.Principal, run paddock.Run) (paddock.Run, error) {
	before := f.cfg.Looked.Rings()
	limited, cancel := context.WithTimeout(ctx, f.begin)
	defer cancel()
	err := f.until(limited, func() (bool, error) {
		at, err := f.find(ctx, p, run.ID)
		if err != nil {
			return false, err
		}
		run = at.run
		// Of two looks at the queue the second began after the run was in it.
		passed := f.cfg.Worker == "" || f.cfg.Looked.Rings() >= before+2
		return run.State != paddock.Queued && run.State != paddock.Starting || run.State == paddock.Queued && passed, nil
	})
	if errors.Is(err, store.ErrAway) {
		err = ctx.Err()
	}
	return run, hint.Over(ctx, err)
}
