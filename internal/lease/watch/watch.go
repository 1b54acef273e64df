// Package watch finds out which workers no longer hold what they took: for servers, any
// number of which may watch.
//
// # Limits
//
// It compares no clocks of two machines. That a silent machine ends its runs by itself is
// its supervisors' promise; a watch only waits for longer than that takes.
package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock"
	"paddock/internal/lease"
	"paddock/internal/store"
)

// A Watch finds workers that have fallen silent. Any number of servers may have one.
// It must be made with [New]; one goroutine at a time may use it.
type Watch struct {
	queue  store.Queue
	times  lease.Times
	seen   map[store.WorkerID]sight
	looked time.Time // the last time that it saw anything
	blind  bool      // it couldn't look since
}

// A sight is a beat and when this watch first saw it.
type sight struct {
	epoch, beat int64
	at          time.Time
}

// New returns a watch that has seen nothing yet.
func New(q store.Queue, t lease.Times) (*Watch, error) {
	if !t.Sound() {
		return nil, fmt.Errorf("times of leases that make no sense: %+v", t)
	}
	return &Watch{queue: q, times: t, seen: map[store.WorkerID]sight{}}, nil
}

// Look looks once, at now by this machine's clock, and returns the runs that it
// found lost. It is to be called a few times in a lease's time.
//
// The time in which nobody could look is nobody's silence: a database that is away for
// longer than runs go on by themselves would have all of them lost the moment it is back,
// before the first worker could say how they ended.
func (w *Watch) Look(ctx context.Context, now time.Time) (lost []paddock.RunID, err error) {
	beats, err := w.queue.Beats(ctx)
	if err != nil {
		w.blind = true
		return nil, err
	}
	w.pardon(now)
	seen := make(map[store.WorkerID]sight, len(beats))
	var faults []error
	for _, b := range beats {
		s := w.seen[b.Worker]
		if s.epoch != b.Epoch || s.beat != b.Beat || s.at.IsZero() {
			s = sight{b.Epoch, b.Beat, now}
		}
		seen[b.Worker] = s
		ids, err := w.judge(ctx, b, now.Sub(s.at), now)
		if err != nil && !errors.Is(err, store.ErrStale) { // stale: it isn't silent after all
			faults = append(faults, err)
		}
		lost = append(lost, ids...)
	}
	w.seen = seen
	return lost, errors.Join(faults...)
}

// pardon takes the time since the last look out of everybody's silence, if nobody could
// look in between.
func (w *Watch) pardon(now time.Time) {
	if w.blind {
		for id, s := range w.seen {
			s.at = s.at.Add(now.Sub(w.looked))
			w.seen[id] = s
		}
	}
	w.looked, w.blind = now, false
}

func (w *Watch) judge(ctx context.Context, b store.Beat, silent time.Duration, now time.Time) ([]paddock.RunID, error) {
	// Who has longer times than ours says so with each beat; shorter ones aren't believed.
	short, lost := max(w.times.Lease, min(b.Lease, lease.MostLease)), max(w.times.Lost(), min(b.Lost, lease.MostLost))
	switch {
	case silent >= lost:
		v, err := lease.Verdict(paddock.Lost, paddock.Reason{Kind: paddock.ReasonLost, Evidence: &paddock.Evidence{SeenAt: now.UTC(),
			Note: fmt.Sprintf("its worker was silent for %s; supervisors have ended their runs after %s", silent.Round(time.Millisecond), lost)}}, now)
		if err != nil {
			return nil, err
		}
		return w.queue.Lose(ctx, b, v)
	case silent >= short && b.Live > b.Unreachable:
		_, err := w.queue.Miss(ctx, b)
		return nil, err
	}
	return nil, nil
}
