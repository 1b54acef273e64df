// Package timed tells how long the database took for what a worker writes about runs: to
// claim one, and to settle it. Between the request and the program, and between the end and
// its readers, that is the part that isn't this machine's.
//
// # Limits
//
// It changes no question and no answer. Of a run that an earlier process of the worker
// claimed it tells nothing.
package timed

import (
	"context"
	"sync"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/store"
	"paddock/internal/trace"
)

// most is how many runs are known at once.
const most = 10_000

// A Queue is a [store.Queue], and [store.Offers], whose writes are told.
type Queue struct {
	store.Queue
	offers store.Offers
	Config

	mu   sync.Mutex
	runs map[paddock.RunID]trace.Context // of spans named run; guarded by mu
}

// Config is what a Queue works with; all of it must be set.
type Config struct {
	Traces *trace.Tracer
	// Keys signed what says which trace a run is a part of.
	Keys   []*sign.Public
	Worker string
	Now    func() time.Time
}

// Of is q, and offers unless that is nil, with what they take told; without Traces they
// are as they were.
func Of(q store.Queue, offers store.Offers, c Config) (store.Queue, store.Offers) {
	if c.Traces == nil {
		return q, offers
	}
	t := &Queue{Queue: q, offers: offers, Config: c, runs: map[paddock.RunID]trace.Context{}}
	if offers == nil {
		return t, nil
	}
	return t, t
}

// Claim implements store.Queue.
func (q *Queue) Claim(ctx context.Context, id store.WorkerID, epoch int64, t store.Term, pick func(context.Context, store.Line) ([]paddock.RunID, error)) ([]store.Run, error) {
	begun := q.Now()
	runs, err := q.Queue.Claim(ctx, id, epoch, t, pick)
	q.claimed(runs, begun)
	return runs, err
}

// Offer implements store.Offers: to queue and to claim is one write.
func (q *Queue) Offer(ctx context.Context, r store.Run, nonce string, id store.WorkerID, epoch int64, t store.Term,
	pick func(context.Context, store.Line) ([]paddock.RunID, error), chosen func([]store.Run) error) (kept store.Run, again bool, got []store.Run, err error) {
	begun := q.Now()
	kept, again, got, err = q.offers.Offer(ctx, r, nonce, id, epoch, t, pick, chosen)
	if err == nil {
		q.claimed(got, begun)
	}
	return kept, again, got, err
}

// Settle implements store.Queue.
func (q *Queue) Settle(ctx context.Context, h store.Held, heads store.Heads, v store.Verdict) error {
	begun := q.Now()
	err := q.Queue.Settle(ctx, h, heads, v)
	q.mu.Lock()
	run, known := q.runs[h.Run]
	if err == nil {
		delete(q.runs, h.Run)
	}
	q.mu.Unlock()
	if known {
		q.tell(run, h.Run, "settle", begun, err)
	}
	return err
}

func (q *Queue) claimed(runs []store.Run, begun time.Time) {
	for _, r := range runs {
		o, err := order.Open(r.Envelope, r.ID, q.Keys, q.Now())
		if err != nil {
			continue // which the worker will say
		}
		c, ok := trace.Parse(o.Trace)
		if !ok || !c.Sampled {
			continue
		}
		run := c.Below("run", string(r.ID))
		q.mu.Lock()
		if len(q.runs) >= most { // of runs that were lost, which nobody settles
			clear(q.runs)
		}
		q.runs[r.ID] = run
		q.mu.Unlock()
		q.tell(run, r.ID, "claim", begun, nil)
	}
}

func (q *Queue) tell(run trace.Context, id paddock.RunID, what string, begun time.Time, err error) {
	failed := ""
	if err != nil {
		failed = "fault"
	}
	q.Traces.Emit(trace.Span{Context: run.Below(what), Parent: run.Span, Name: what, Start: begun, End: q.Now(), Failed: failed, Attributes: []trace.Attribute{
		trace.Text("paddock.run.id", string(id)), trace.Text("paddock.worker.id", q.Worker),
	}})
}
