// Package timely asks a queue and waits for its answer for so long and no longer: a
// database that takes a question and never answers, since its machine stands still or the
// way to it is broken on one side, keeps a worker or a watch from its next question
// otherwise, for which it might have found another that answers.
//
// # Limits
//
// What was asked may have been done all the same, as after any answer that is lost.
package timely

import (
	"context"
	"time"

	"paddock"
	"paddock/internal/lease"
	"paddock/internal/store"
)

// A Queue is a [store.Queue] whose answers come within some time.
type Queue struct {
	of   store.Queue
	most time.Duration
}

// The shortest and longest that is waited.
const (
	least = 3 * time.Second
	most  = 15 * time.Second
)

// Of is q for those who have these times: an answer that takes longer than a lease is of no
// use to them.
func Of(q store.Queue, t lease.Times) *Queue {
	return &Queue{q, min(max(t.Lease, least), most)}
}

func (q *Queue) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, q.most)
}

// Enlist implements store.Queue.
func (q *Queue) Enlist(ctx context.Context, id store.WorkerID, labels store.Words, capacity int64, version string, now store.Moment) (store.Worker, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Enlist(ctx, id, labels, capacity, version, now)
}

// Claim implements store.Queue.
func (q *Queue) Claim(ctx context.Context, id store.WorkerID, epoch int64, t store.Term, pick func(context.Context, store.Line) ([]paddock.RunID, error)) ([]store.Run, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Claim(ctx, id, epoch, t, pick)
}

// Renew implements store.Queue.
func (q *Queue) Renew(ctx context.Context, id store.WorkerID, epoch int64, t store.Term) (store.Worker, []store.Run, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Renew(ctx, id, epoch, t)
}

// Holds implements store.Queue.
func (q *Queue) Holds(ctx context.Context, id store.WorkerID, epoch int64) ([]store.Run, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Holds(ctx, id, epoch)
}

// Waits implements store.Queue.
func (q *Queue) Waits(ctx context.Context) (bool, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Waits(ctx)
}

// Start implements store.Queue.
func (q *Queue) Start(ctx context.Context, h store.Held, now store.Moment) error {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Start(ctx, h, now)
}

// Advance implements store.Queue.
func (q *Queue) Advance(ctx context.Context, h store.Held, heads store.Heads) error {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Advance(ctx, h, heads)
}

// Settle implements store.Queue.
func (q *Queue) Settle(ctx context.Context, h store.Held, heads store.Heads, v store.Verdict) error {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Settle(ctx, h, heads, v)
}

// Beats implements store.Queue.
func (q *Queue) Beats(ctx context.Context) ([]store.Beat, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Beats(ctx)
}

// Miss implements store.Queue.
func (q *Queue) Miss(ctx context.Context, b store.Beat) (int, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Miss(ctx, b)
}

// Lose implements store.Queue.
func (q *Queue) Lose(ctx context.Context, b store.Beat, v store.Verdict) ([]paddock.RunID, error) {
	ctx, over := q.soon(ctx)
	defer over()
	return q.of.Lose(ctx, b, v)
}
