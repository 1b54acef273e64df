package watch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"paddock"
	"paddock/internal/lease"
	"paddock/internal/lease/watch"
	"paddock/internal/store"
)

// A queue has one worker that is silent.
type queue struct {
	store.Queue
	beat         store.Beat
	away         error
	missed, lost int
}

func (q *queue) Beats(context.Context) ([]store.Beat, error) {
	if q.away != nil {
		return nil, q.away
	}
	return []store.Beat{q.beat}, nil
}

func (q *queue) Miss(context.Context, store.Beat) (int, error) {
	q.missed++
	return 1, nil
}

func (q *queue) Lose(context.Context, store.Beat, store.Verdict) ([]paddock.RunID, error) {
	q.lost++
	return nil, nil
}

// Whatever a worker, or who owns the database, says of its times: it is missed and lost no
// earlier than this server's times say, and no later than anybody may want. A clock that is
// set back makes nobody silent for longer.
func TestBounds(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ours := lease.Default
	for said, want := range map[time.Duration][2]time.Duration{
		0:                    {ours.Lease, ours.Lost()},
		-time.Hour:           {ours.Lease, ours.Lost()},
		time.Millisecond:     {ours.Lease, ours.Lost()},
		2 * time.Minute:      {2 * time.Minute, 2 * time.Minute},
		100 * 24 * time.Hour: {lease.MostLease, lease.MostLost},
		1<<63 - 1:            {lease.MostLease, lease.MostLost},
	} {
		q := &queue{beat: store.Beat{Worker: "w", Epoch: 1, Beat: 7, Live: 1, Lease: said, Lost: said}}
		w, err := watch.New(q, ours)
		if err != nil {
			t.Fatal(err)
		}
		look := func(after time.Duration, missed, lost bool) {
			t.Helper()
			q.missed, q.lost = 0, 0
			if _, err := w.Look(t.Context(), begin.Add(after)); err != nil || (q.missed > 0) != missed || (q.lost > 0) != lost {
				t.Errorf("said %s, silent for %s: missed %d, lost %d, %v", said, after, q.missed, q.lost, err)
			}
		}
		short := want[0] < want[1]
		look(0, false, false)
		look(want[0]-1, false, false)
		look(want[0], short, !short)
		look(want[1]-1, short, false)
		look(want[1], false, true)
		look(-time.Hour, false, false)
	}
	if _, err := watch.New(&queue{}, lease.Times{}); err == nil {
		t.Error("a watch without times")
	}
}

// TestSignsOfLife has each beat and each process of a worker count from when it is seen, and
// what was seen of one that had nothing for a while count for nothing.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	q := &queue{beat: store.Beat{Worker: "w", Epoch: 1, Beat: 7, Live: 1}}
	w, err := watch.New(q, lease.Default)
	if err != nil {
		t.Fatal(err)
	}
	var now time.Duration
	for what, change := range []func(*store.Beat){
		func(*store.Beat) {}, // it is seen for the first time
		func(b *store.Beat) { b.Beat++ },
		func(b *store.Beat) { b.Epoch++ },
		func(b *store.Beat) { b.Beat-- }, // of a database that was put back
		func(b *store.Beat) { b.Worker = "another" },
		func(b *store.Beat) { b.Worker = "w" },
	} {
		change(&q.beat)
		for _, after := range []time.Duration{0, lease.Default.Lease - 1, lease.Default.Lease} {
			q.missed, q.lost = 0, 0
			if _, err := w.Look(t.Context(), begin.Add(now+after)); err != nil || q.lost > 0 || (q.missed > 0) != (after == lease.Default.Lease) {
				t.Errorf("sign %d, %s later: missed %d, lost %d, %v", what, after, q.missed, q.lost, err)
			}
		}
		now += lease.Default.Lost()
	}
}

// TestBlind has a database be away for longer than runs go on by themselves: its workers
// had nobody to talk to, which isn't their silence. What they were silent before counts.
func TestBlind(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ours := lease.Default
	q := &queue{beat: store.Beat{Worker: "w", Epoch: 1, Beat: 7, Live: 1}}
	w, err := watch.New(q, ours)
	if err != nil {
		t.Fatal(err)
	}
	look := func(at time.Duration, away error, missed, lost bool) {
		t.Helper()
		q.away, q.missed, q.lost = away, 0, 0
		if _, err := w.Look(t.Context(), begin.Add(at)); !errors.Is(err, away) || (q.missed > 0) != missed || (q.lost > 0) != lost {
			t.Errorf("at %s: missed %d, lost %d, %v", at, q.missed, q.lost, err)
		}
	}
	look(-time.Minute, store.ErrAway, false, false) // it was away from the beginning
	look(0, nil, false, false)
	look(ours.Lease-1, nil, false, false)
	back := ours.Lease - 1 + 2*ours.Lost()
	look(back-ours.Lost(), store.ErrAway, false, false)
	look(back-1, store.ErrAway, false, false)
	look(back, nil, false, false)
	look(back+1, nil, true, false) // as long as before and after together
	look(back+ours.Lost()-ours.Lease, nil, true, false)
	look(back+ours.Lost()-ours.Lease+1, nil, false, true)
}
