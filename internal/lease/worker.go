package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/order"
	"paddock/internal/store"
)

// Hands carry out runs on this machine.
type Hands interface {
	// Launch decides by this machine's policy, claims the run's directory and starts
	// the run, in that order, or returns an error and has started nothing. A
	// *paddock.Refusal says that the policy doesn't allow it. A directory that is
	// there already is an error. The supervisor ends the run at until unless it is
	// extended, also when everybody else is gone.
	Launch(ctx context.Context, o order.Order, until time.Time) error
	// Look says what is known here of a run.
	Look(ctx context.Context, id paddock.RunID) (Found, error)
	// Live are the runs of leases that go on here.
	Live(ctx context.Context) ([]paddock.RunID, error)
	// Extend lets a run go on until a later time. That it has ended is no error.
	Extend(ctx context.Context, id paddock.RunID, until time.Time) error
	// Kill ends a run. That it has ended is no error.
	Kill(ctx context.Context, id paddock.RunID, by, why string) error
}

// Found is what a run's directory says.
type Found struct {
	// Here is whether there is one.
	Here bool
	// Started is when the program became the program.
	Started time.Time
	Heads   store.Heads
	// End is how it ended, once it has.
	End *store.Verdict
}

// A Worker holds leases and has them carried out. It must be made with [Begin]; one
// goroutine at a time may use it.
type Worker struct {
	Config
	epoch int64
	since time.Time // of the last beat: from before it was asked for
	// begun is from before this epoch. What earlier ones let go on may do so for inherited
	// from then.
	begun     time.Time
	inherited time.Duration

	turn sync.Mutex              // of renewals that a start needs
	have map[paddock.RunID]int64 // fences at the last beat; guarded by turn while runs are started

	mu   sync.Mutex
	told map[paddock.RunID]Found // what the store knows; guarded by mu
}

// Config is what a Worker needs.
type Config struct {
	ID       store.WorkerID
	Labels   store.Words
	Capacity int64
	Version  string
	Queue    store.Queue
	Hands    Hands
	// Keys are the front doors' whose orders are followed.
	Keys   []*sign.Public
	Nonces order.Nonces
	Times  Times
	Limits Limits
	Clock  func() time.Time
	// Launches is how many runs are started at a time; 0 stands for one.
	Launches int
}

// Begin begins an epoch of the worker, and takes up what it held when its process
// ended.
func Begin(ctx context.Context, c Config) (*Worker, error) {
	if !c.Times.sound() {
		return nil, fmt.Errorf("times of leases that make no sense: %+v", c.Times)
	}
	w := &Worker{Config: c, told: map[paddock.RunID]Found{}}
	w.begun = c.Clock()
	who, err := c.Queue.Enlist(ctx, c.ID, c.Labels, c.Capacity, c.Version, store.At(w.begun))
	if err != nil {
		return nil, err
	}
	w.epoch, w.inherited = who.Epoch, min(who.LostAfter.Sub(who.LastSeen.Time), MostLost)
	_, runs, since, err := w.renew(ctx)
	if err != nil {
		return nil, err
	}
	return w, w.look(ctx, runs, since)
}

// Step does all that there is to do now: renews, tells what has become of the runs,
// and takes new ones. It is to be called each Times.Beat, and whenever something may
// have happened. Mode is what the worker was told to do; held is how many runs it
// has. ErrFenced says that this process is given up and must do nothing more.
func (w *Worker) Step(ctx context.Context) (mode store.Mode, held int, err error) {
	who, runs, since, err := w.renew(ctx)
	if err != nil {
		return "", 0, err
	}
	if err := w.look(ctx, runs, since); err != nil {
		return who.Mode, len(runs), err
	}
	if who.Mode != store.Open || int64(w.holds()) >= w.Capacity {
		return who.Mode, w.holds(), nil
	}
	_, err = w.claim(ctx, since)
	return who.Mode, w.holds(), err
}

// Take only takes new runs, and says how many: it is cheaper than Step when something
// was queued. It counts on the last beat, and does nothing when that was too long ago.
func (w *Worker) Take(ctx context.Context) (int, error) {
	if w.Clock().Sub(w.since) >= w.Times.Lease/2 || int64(w.holds()) >= w.Capacity {
		return 0, nil
	}
	return w.claim(ctx, w.since)
}

// renew returns what is held, and the time from which that is sure: before asking.
func (w *Worker) renew(ctx context.Context) (store.Worker, []store.Run, time.Time, error) {
	since := w.Clock()
	who, runs, err := w.Queue.Renew(ctx, w.ID, w.epoch, w.term(since))
	if err == nil {
		w.since, w.have = since, map[paddock.RunID]int64{}
		for _, r := range runs {
			w.have[r.ID] = r.Fence
		}
	}
	return who, runs, since, err
}

func (w *Worker) term(now time.Time) store.Term {
	at, lost := store.At(now), w.Times.Lost()
	if now.Sub(w.begun) < w.inherited { // a supervisor isn't told to end earlier than it was told before
		lost = max(lost, w.inherited)
	}
	return store.Term{Now: at, Until: at.After(w.Times.Lease), LostAfter: at.After(lost)}
}

func (w *Worker) held(r store.Run) store.Held {
	return store.Held{Run: r.ID, Worker: w.ID, Epoch: w.epoch, Fence: r.Fence}
}

// look brings together what is held and what is here.
func (w *Worker) look(ctx context.Context, runs []store.Run, since time.Time) error {
	// What keeps runs alive, or ends them, comes first and for all: telling may take long,
	// and the trouble of one is no other's.
	ours := map[paddock.RunID]bool{}
	var faults []error
	for _, r := range runs {
		ours[r.ID] = true
		faults = append(faults, w.Hands.Extend(ctx, r.ID, since.Add(w.Times.DeadMan)))
		if !r.Cancel.IsZero() {
			faults = append(faults, w.Hands.Kill(ctx, r.ID, r.CancelBy, r.CancelWhy))
		}
	}
	w.mu.Lock()
	maps.DeleteFunc(w.told, func(id paddock.RunID, _ Found) bool { return !ours[id] })
	w.mu.Unlock()
	here, err := w.Hands.Live(ctx)
	faults = append(faults, err)
	for _, id := range here {
		if !ours[id] {
			faults = append(faults, w.Hands.Kill(ctx, id, "", "the lease of the run was lost"))
		}
	}
	for _, r := range runs {
		err := w.tell(ctx, r)
		if faults = append(faults, err); errors.Is(err, store.ErrAway) {
			break // nobody is there whom the others could be told
		}
	}
	return errors.Join(faults...)
}

// tell writes what is new about a run.
func (w *Worker) tell(ctx context.Context, r store.Run) error {
	found, err := w.Hands.Look(ctx, r.ID)
	if err != nil {
		return err
	}
	if !found.Here {
		// Nothing is being started at this moment, so nothing will be: its claim, or
		// the end of what claimed it, got lost on the way.
		return w.give(ctx, r, paddock.FailedToStart, "claim", "the worker was interrupted between claiming the run and starting it")
	}
	h, told := w.held(r), w.knows(r.ID)
	if told.Started.IsZero() && !found.Started.IsZero() && r.Started.IsZero() {
		if err := w.Queue.Start(ctx, h, store.At(found.Started)); err != nil {
			return w.gone(err, r.ID)
		}
	}
	if found.End != nil {
		err := w.Queue.Settle(ctx, h, found.Heads, *found.End)
		if err == nil {
			w.forget(r.ID)
		}
		return w.gone(err, r.ID)
	}
	if found.Heads != told.Heads {
		if err := w.Queue.Advance(ctx, h, found.Heads); err != nil {
			return w.gone(err, r.ID)
		}
	}
	w.note(r.ID, found)
	return nil
}

func (w *Worker) holds() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.told)
}

func (w *Worker) knows(id paddock.RunID) Found {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[id]
}

func (w *Worker) note(id paddock.RunID, f Found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[id] = f
}

func (w *Worker) forget(id paddock.RunID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.told, id)
}

// gone makes a lease that was lost no error of the whole: the next renewal says the
// same, and ends the run.
func (w *Worker) gone(err error, id paddock.RunID) error {
	if errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrOver) {
		w.forget(id)
		return nil
	}
	return err
}

// claim takes new runs and starts them.
func (w *Worker) claim(ctx context.Context, since time.Time) (int, error) {
	runs, err := w.Queue.Claim(ctx, w.ID, w.epoch, w.term(since), func(ctx context.Context, l store.Line) ([]paddock.RunID, error) {
		return Choose(ctx, l, w.Limits)
	})
	if err != nil {
		return 0, err
	}
	if w.Launches <= 1 {
		for _, r := range runs {
			if err := w.start(ctx, r, since); err != nil {
				return len(runs), err
			}
		}
		return len(runs), nil
	}
	faults := make([]error, len(runs))
	var all sync.WaitGroup
	turn := make(chan struct{}, w.Launches)
	for i, r := range runs {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			faults[i] = w.start(ctx, r, since)
		})
	}
	all.Wait()
	return len(runs), errors.Join(faults...)
}

// recent is since, or of a run that comes to its start late the time of a newer beat, at
// which it was held still.
func (w *Worker) recent(ctx context.Context, r store.Run, since time.Time) time.Time {
	w.turn.Lock()
	defer w.turn.Unlock()
	late := func() bool { return w.Clock().Sub(since) >= w.Times.Lease/2 }
	held := func() bool { fence, ok := w.have[r.ID]; return ok && fence == r.Fence && w.since.After(since) }
	if late() && held() {
		since = w.since
	}
	if late() {
		if _, _, _, err := w.renew(ctx); err == nil && held() {
			since = w.since
		}
	}
	return since
}

// start starts a run that was just claimed, or settles it as one that can't be.
func (w *Worker) start(ctx context.Context, r store.Run, since time.Time) error {
	since = w.recent(ctx, r, since)
	now := w.Clock()
	if now.Sub(since) >= w.Times.Lease {
		return w.give(ctx, r, paddock.FailedToStart, "claim", "claiming it took so long that others may take this worker for silent")
	}
	o, err := order.Open(r.Envelope, r.ID, w.Keys, now)
	if err != nil {
		return w.give(ctx, r, paddock.RefusedState, "order", err.Error())
	}
	if err := w.Nonces.Use(o); err != nil {
		if errors.Is(err, order.ErrUsed) {
			return w.give(ctx, r, paddock.RefusedState, "order", err.Error())
		}
		return w.give(ctx, r, paddock.FailedToStart, "order", err.Error())
	}
	err = w.Hands.Launch(ctx, o, since.Add(w.Times.DeadMan))
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

// give settles a run that wasn't started.
func (w *Worker) give(ctx context.Context, r store.Run, s paddock.State, step, detail string) error {
	v, err := verdict(s, paddock.Reason{Kind: paddock.ReasonStart, Step: step, Detail: detail}, w.Clock())
	if err != nil {
		return err
	}
	w.forget(r.ID)
	return w.gone(w.Queue.Settle(ctx, w.held(r), store.Heads{}, v), r.ID)
}
