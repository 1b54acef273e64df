package lease

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/lease/fair"
	"paddock/internal/lease/order"
	"paddock/internal/lease/pause"
	"paddock/internal/store"
)

// claim takes new runs and starts them.
func (w *Worker) claim(ctx context.Context, since time.Time) (int, error) {
	if some, err := w.Queue.Waits(ctx); err != nil || !some {
		return 0, err
	}
	var chosen []paddock.RunID
	limits := w.Limits
	limits.Without = w.unreached()
	runs, err := w.Queue.Claim(ctx, w.ID, w.epoch, w.term(since), func(ctx context.Context, l store.Line) (ids []paddock.RunID, err error) {
		w.begun(chosen...)
		chosen, err = fair.Choose(ctx, l, limits)
		w.begin(chosen)
		return chosen, err
	})
	w.only(chosen, runs)
	if err == nil && len(limits.Without) > 0 {
		err = fmt.Errorf("%w: %s", ErrUnreached, strings.Join(limits.Without, ", "))
	}
	return len(runs), errors.Join(w.launch(ctx, runs, since), err)
}

// launch starts runs: beside everything else, if that is allowed. Those that wait for
// their signers hold up none of the others.
func (w *Worker) launch(ctx context.Context, runs []store.Run, since time.Time) error {
	for i, r := range runs {
		if w.Launches == 0 {
			if err := w.start(ctx, r, since, w.follow(ctx, r, w.Clock())); err != nil {
				w.begun(idsOf(runs[i:])...)
				return err
			}
			continue
		}
		if !w.enter() {
			w.begun(idsOf(runs[i:])...)
			return nil // the next process of this worker finds them so
		}
		go func() {
			defer w.work.Done()
			was := w.follow(ctx, r, w.Clock())
			w.turn <- struct{}{}
			defer func() { <-w.turn }()
			if err := w.start(ctx, r, since, was); err != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.faults = append(w.faults, err)
			}
		}()
	}
	return nil
}

// Offer queues a run and takes at once what there is room for: usually that run. Taken
// says that it was, and was started or settled. When it can't be taken now, since the
// worker is busy, silent or closed, ok is false and nothing has happened.
//
// To be in the queue, to be claimed and not to be followed a second time are on the disk
// before anything starts, as if one came after the other: either the row is there and
// claimed, or there is none, and a nonce that nobody has an order for.
func (w *Worker) Offer(ctx context.Context, r store.Run, nonce string) (kept store.Run, again, taken, ok bool, err error) {
	since, ok := w.fresh()
	if !ok || w.Offers == nil || int64(w.holds()) >= w.Capacity || !w.enter() {
		return store.Run{}, false, false, false, nil
	}
	defer w.work.Done()
	var chosen []paddock.RunID
	var noted chan answer
	kept, again, got, err := w.Offers.Offer(ctx, r, nonce, w.ID, w.epoch, w.term(since), func(ctx context.Context, l store.Line) (ids []paddock.RunID, err error) {
		w.begun(chosen...)
		chosen, err = fair.Choose(ctx, l, w.Limits)
		w.begin(chosen)
		return chosen, err
	}, func(got []store.Run) error {
		ours := slices.IndexFunc(got, func(g store.Run) bool { return g.ID == r.ID })
		if noted != nil {
			return errors.New("a run can't be queued: the database took it back once, and an order is followed once")
		}
		if ours >= 0 {
			noted = make(chan answer, 1)
			// While the transaction is synced: where it fails nobody has this order.
			mine, now, lasting := got[ours], w.Clock(), context.WithoutCancel(ctx)
			w.work.Go(func() { noted <- w.follow(lasting, mine, now) })
		}
		return nil
	})
	w.only(chosen, got)
	if err != nil || again {
		return kept, again, false, true, err
	}
	ctx = context.WithoutCancel(ctx) // it is accepted
	var mine store.Run
	var others []store.Run
	for _, g := range got {
		if g.ID == r.ID {
			mine = g
		} else {
			others = append(others, g)
		}
	}
	err = w.launch(ctx, others, since)
	if noted == nil {
		return kept, false, false, true, err
	}
	was := <-noted
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	return mine, false, true, true, errors.Join(err, w.start(ctx, mine, since, was))
}

// enter says that something is being done, unless the worker is closed.
func (w *Worker) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.work.Add(1)
	}
	return !w.closed
}

// An answer is an order that is followed from now on, or why it isn't.
type answer struct {
	order order.Order
	state paddock.State
	err   error
}

// start starts a run that was just claimed, or settles it as one that can't be.
func (w *Worker) start(ctx context.Context, r store.Run, since time.Time, a answer) error {
	defer w.begun(r.ID)
	var off pause.Off
	switch {
	case errors.As(a.err, &off):
		return w.settle(ctx, r, paddock.Killed, paddock.Reason{Kind: paddock.ReasonKill, By: off.By, Why: off.Why, Detail: "before the program was started"})
	case a.err != nil:
		return w.give(ctx, r, a.state, "order", a.err.Error())
	}
	since = w.recent(ctx, r, since)
	if w.Clock().Sub(since) >= w.Times.Lease {
		return w.give(ctx, r, paddock.FailedToStart, "claim", "claiming it took so long that others may take this worker for silent")
	}
	err := w.Hands.Launch(ctx, a.order, since.Add(w.Times.DeadMan))
	var refused *paddock.Refusal
	switch {
	case errors.As(err, &refused):
		return w.give(ctx, r, paddock.RefusedState, "policy", refused.Error())
	case err != nil:
		return w.give(ctx, r, paddock.FailedToStart, "launch", err.Error())
	}
	w.note(r.ID, Found{Here: true})
	return nil
}

// recent is since, or of a run that comes to its start late the time of a newer beat, at
// which it was held still.
func (w *Worker) recent(ctx context.Context, r store.Run, since time.Time) time.Time {
	w.renewing.Lock()
	defer w.renewing.Unlock()
	late := func() bool { return w.Clock().Sub(since) >= w.Times.Lease/2 }
	newer := func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		if fence, ok := w.have[r.ID]; ok && fence == r.Fence && w.since.After(since) {
			return w.since
		}
		return since
	}
	if late() {
		since = newer()
	}
	if late() {
		if _, _, _, err := w.renew(ctx); err == nil {
			since = newer()
		}
	}
	return since
}

// give settles a run that wasn't started.
func (w *Worker) give(ctx context.Context, r store.Run, s paddock.State, step, detail string) error {
	return w.settle(ctx, r, s, paddock.Reason{Kind: paddock.ReasonStart, Step: step, Detail: detail})
}

func (w *Worker) settle(ctx context.Context, r store.Run, s paddock.State, why paddock.Reason) error {
	v, err := Verdict(s, why, w.Clock())
	if err != nil {
		return err
	}
	w.forget(r.ID)
	return w.gone(w.Queue.Settle(ctx, w.held(r), store.Heads{}, v), r.ID)
}

// begins reports whether the run is being claimed or started.
func (w *Worker) begins(id paddock.RunID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starting[id]
}

// begin says of runs that they are being claimed, before anybody can see that.
func (w *Worker) begin(ids []paddock.RunID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		w.starting[id] = true
	}
}

// begun says that runs no longer are being started.
func (w *Worker) begun(ids ...paddock.RunID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.starting, func(id paddock.RunID, _ bool) bool { return slices.Contains(ids, id) })
}

// only says of runs that were chosen and not claimed after all that they aren't being started.
func (w *Worker) only(chosen []paddock.RunID, claimed []store.Run) {
	w.begun(slices.DeleteFunc(slices.Clone(chosen), func(id paddock.RunID) bool { return slices.Contains(idsOf(claimed), id) })...)
}

func idsOf(runs []store.Run) (ids []paddock.RunID) {
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// Verdict is an end that isn't a supervisor's to tell.
func Verdict(s paddock.State, why paddock.Reason, now time.Time) (store.Verdict, error) {
	at := store.At(now)
	text, err := json.Marshal(paddock.Outcome{State: s, Reason: why, EndedAt: at.Time, SettledAt: at.Time}, json.Deterministic(true))
	if err != nil {
		return store.Verdict{}, fmt.Errorf("an outcome that can't be encoded: %w", err)
	}
	return store.Verdict{State: s, Outcome: text, At: at}, nil
}
