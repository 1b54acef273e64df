package timely_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"paddock"
	"paddock/internal/lease"
	"paddock/internal/lease/timely"
	"paddock/internal/store"
)

// A stone takes questions and answers none.
type stone struct{ store.Queue }

func still[T any](ctx context.Context) (T, error) {
	<-ctx.Done()
	var none T
	return none, ctx.Err()
}

func (stone) Enlist(ctx context.Context, _ store.WorkerID, _ store.Words, _ int64, _ string, _ store.Moment) (store.Worker, error) {
	return still[store.Worker](ctx)
}
func (stone) Claim(ctx context.Context, _ store.WorkerID, _ int64, _ store.Term, _ func(context.Context, store.Line) ([]paddock.RunID, error)) ([]store.Run, error) {
	return still[[]store.Run](ctx)
}
func (stone) Renew(ctx context.Context, _ store.WorkerID, _ int64, _ store.Term) (store.Worker, []store.Run, error) {
	<-ctx.Done()
	return store.Worker{}, nil, ctx.Err()
}
func (stone) Start(ctx context.Context, _ store.Held, _ store.Moment) error {
	_, err := still[int](ctx)
	return err
}
func (stone) Advance(ctx context.Context, _ store.Held, _ store.Heads) error {
	_, err := still[int](ctx)
	return err
}
func (stone) Settle(ctx context.Context, _ store.Held, _ store.Heads, _ store.Verdict) error {
	_, err := still[int](ctx)
	return err
}
func (stone) Holds(ctx context.Context, _ store.WorkerID, _ int64) ([]store.Run, error) {
	return still[[]store.Run](ctx)
}
func (stone) Waits(ctx context.Context) (bool, error)             { return still[bool](ctx) }
func (stone) Beats(ctx context.Context) ([]store.Beat, error)     { return still[[]store.Beat](ctx) }
func (stone) Miss(ctx context.Context, _ store.Beat) (int, error) { return still[int](ctx) }
func (stone) Lose(ctx context.Context, _ store.Beat, _ store.Verdict) ([]paddock.RunID, error) {
	return still[[]paddock.RunID](ctx)
}

func TestNobodyWaitsForever(t *testing.T) {
	t.Parallel()
	for lasts, want := range map[time.Duration]time.Duration{time.Second: 3 * time.Second, 7 * time.Second: 7 * time.Second, time.Hour: 15 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			q := timely.Of(stone{}, lease.Times{Lease: lasts})
			for what, ask := range map[string]func(context.Context) error{
				"enlist":  func(ctx context.Context) error { _, err := q.Enlist(ctx, "w", nil, 1, "", store.Moment{}); return err },
				"claim":   func(ctx context.Context) error { _, err := q.Claim(ctx, "w", 1, store.Term{}, nil); return err },
				"holds":   func(ctx context.Context) error { _, err := q.Holds(ctx, "w", 1); return err },
				"waits":   func(ctx context.Context) error { _, err := q.Waits(ctx); return err },
				"renew":   func(ctx context.Context) error { _, _, err := q.Renew(ctx, "w", 1, store.Term{}); return err },
				"start":   func(ctx context.Context) error { return q.Start(ctx, store.Held{}, store.Moment{}) },
				"advance": func(ctx context.Context) error { return q.Advance(ctx, store.Held{}, store.Heads{}) },
				"settle":  func(ctx context.Context) error { return q.Settle(ctx, store.Held{}, store.Heads{}, store.Verdict{}) },
				"beats":   func(ctx context.Context) error { _, err := q.Beats(ctx); return err },
				"miss":    func(ctx context.Context) error { _, err := q.Miss(ctx, store.Beat{}); return err },
				"lose":    func(ctx context.Context) error { _, err := q.Lose(ctx, store.Beat{}, store.Verdict{}); return err },
			} {
				begun := time.Now()
				if err := ask(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != want {
					t.Errorf("%s: %v after %v, not %v", what, err, time.Since(begun), want)
				}
			}
		})
	}
}
