package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/dispatch/machine/shift/hint"
	"paddock/internal/dispatch/rows"
	"paddock/internal/store"
)

// A lapse is a database that answers some questions for a run, and then says that it is away,
// after the time that anybody waits.
type lapse struct {
	rows.Rows
	answers atomic.Int64 // that are still given
	after   time.Duration
}

func (l *lapse) Run(ctx context.Context, s store.Scope, id paddock.RunID) (store.Run, error) {
	if l.answers.Add(-1) >= 0 {
		return l.Rows.Run(ctx, s, id)
	}
	late := time.NewTimer(l.after)
	defer late.Stop()
	<-late.C
	return store.Run{}, fmt.Errorf("%w: it doesn't answer", store.ErrAway)
}

// A database that goes away at the moment when a time to wait is over has nobody told of a run
// that is nothing: what was accepted has its id, and everything else is that failure.
func TestTheDatabaseGoesAtTheEndOfAWait(t *testing.T) {
	t.Parallel()
	const wait = 20 * time.Millisecond
	b := newBox(t)
	l := &lapse{Rows: file(t), after: 3 * wait}
	var bells [4]hint.Bell
	f := dispatch.New(dispatch.Config{App: b.app, Runs: l, Key: b.key, Queued: &bells[0], Changed: &bells[1], Told: &bells[2], Looked: &bells[3], Shared: true, Now: time.Now})
	f.Hurry(wait)
	// With a worker somewhere a queued run is waited for, since it may begin.
	var run paddock.Run
	for answers := range int64(3) {
		l.answers.Store(answers)
		got, err := f.Start(t.Context(), request(alice, "true"))
		if err != nil || got.ID == "" || got.State != paddock.Queued || got.Principal != alice {
			t.Errorf("Start with %d answers: %+v, %v", answers, got, err)
		}
		run = got
	}
	for _, one := range []struct {
		what string
		ask  func(ctx context.Context) (paddock.Run, error)
	}{
		{"Output", func(ctx context.Context) (paddock.Run, error) { // it had the whole server end
			_, err := f.Output(ctx, alice, run.ID, paddock.PageRequest{Stream: paddock.Stdout, Wait: paddock.Duration(wait)})
			return run, err
		}},
		{"Wait", func(ctx context.Context) (paddock.Run, error) { return f.Wait(ctx, alice, run.ID, wait) }},
		{"Kill", func(ctx context.Context) (paddock.Run, error) {
			return f.Kill(ctx, alice, run.ID, app.KillRequest{Reason: "enough"})
		}},
	} {
		for answers := range int64(3) {
			l.answers.Store(answers)
			if got, err := one.ask(t.Context()); !errors.Is(err, store.ErrAway) && got.ID == "" {
				t.Errorf("%s with %d answers: %+v, %v", one.what, answers, got, err)
			}
		}
	}
}
