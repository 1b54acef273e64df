package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease/fair"
	"paddock/internal/lease/order"
	"paddock/internal/lease/pause"
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
	turn  chan struct{} // of those that are being started beside everything else
	work  sync.WaitGroup
	// first is from before this epoch. What earlier ones let go on may do so for inherited
	// from then.
	first     time.Time
	inherited time.Duration

	renewing sync.Mutex // of renewals that a start needs

	mu       sync.Mutex
	since    time.Time               // of the last beat: from before it was asked for; guarded by mu
	have     map[paddock.RunID]int64 // fences at the last beat; guarded by mu
	told     map[paddock.RunID]Found // what the store knows; guarded by mu
	starting map[paddock.RunID]bool  // being claimed or started at this moment; guarded by mu
	closed   bool                    // guarded by mu
	faults   []error                 // of what was started beside everything else; guarded by mu

	waiting pause.Room // those that wait for their signers
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
	Nonces *order.Nonces
	// Signers say which of the workers that follow them may follow an order.
	Signers Signers
	// Waits is how long a run that was claimed waits for its signer; 0 is as usual.
	Waits  time.Duration
	Times  Times
	Limits fair.Limits
	Clock  func() time.Time
	// Launches is how many runs are started at a time, beside everything else. With 0
	// they are one after the other, and whoever took them waits.
	Launches int
	// Offers is for [Worker.Offer]; nil where this process queues nothing.
	Offers store.Offers
}

// Begin begins an epoch of the worker, and takes up what it held when its process
// ended.
func Begin(ctx context.Context, c Config) (*Worker, error) {
	if !c.Times.Sound() {
		return nil, fmt.Errorf("times of leases that make no sense: %+v", c.Times)
	}
	if c.Signers == nil {
		return nil, errors.New("a worker that asks no signer would follow what another one follows, too")
	}
	w := &Worker{Config: c, turn: make(chan struct{}, max(1, c.Launches)), told: map[paddock.RunID]Found{}, starting: map[paddock.RunID]bool{}}
	w.first = c.Clock()
	who, err := c.Queue.Enlist(ctx, c.ID, c.Labels, c.Capacity, c.Version, store.At(w.first))
	if err != nil {
		return nil, err
	}
	w.epoch, w.inherited = who.Epoch, min(who.LostAfter.Sub(who.LastSeen.Time), MostLost)
	here := w.before(ctx)
	_, runs, since, err := w.renew(ctx)
	if err != nil {
		return nil, err
	}
	return w, w.look(ctx, here, runs, since)
}

// Close waits for what is being started, and takes nothing more. Runs go on.
func (w *Worker) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.waiting.Close()
	w.work.Wait()
}

// Step does all that there is to do now: renews, tells what has become of the runs,
// and takes new ones. It is to be called each Times.Beat. Mode is what the worker was
// told to do; held is how many runs it has. ErrFenced says that this process is given
// up and must do nothing more.
func (w *Worker) Step(ctx context.Context) (mode store.Mode, held int, err error) {
	// Before the question: what goes on now was claimed by now, and is held or lost.
	here := w.before(ctx)
	who, runs, since, err := w.renew(ctx)
	if err != nil {
		return "", 0, err
	}
	if err := w.look(ctx, here, runs, since); err != nil {
		return who.Mode, len(runs), err
	}
	if who.Mode != store.Open || int64(w.holds()) >= w.Capacity {
		return who.Mode, w.holds(), w.fault()
	}
	_, err = w.claim(ctx, since)
	return who.Mode, w.holds(), errors.Join(err, w.fault())
}

// Look tells what has become of the runs, and takes new ones where there is room now. It
// is for when something may have happened, and counts on the last beat.
func (w *Worker) Look(ctx context.Context) error {
	here := w.before(ctx)
	runs, err := w.Queue.Holds(ctx, w.ID, w.epoch)
	if err != nil {
		return err
	}
	if err := w.look(ctx, here, runs, time.Time{}); err != nil {
		return err
	}
	_, err = w.Take(ctx)
	return err
}

// Take only takes new runs, and says how many: it is cheaper than Step when something
// was queued. It counts on the last beat, and does nothing when that was too long ago.
func (w *Worker) Take(ctx context.Context) (int, error) {
	since, ok := w.fresh()
	if !ok || int64(w.holds()) >= w.Capacity {
		return 0, w.fault()
	}
	n, err := w.claim(ctx, since)
	return n, errors.Join(err, w.fault())
}

// fresh is the time of the last beat, unless that is too long ago to count on.
func (w *Worker) fresh() (time.Time, bool) {
	now := w.Clock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since, !w.closed && now.Sub(w.since) < w.Times.Lease/2
}

// fault is what went wrong meanwhile.
func (w *Worker) fault() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.faults...)
	w.faults = nil
	return err
}

// renew returns what is held, and the time from which that is sure: before asking.
func (w *Worker) renew(ctx context.Context) (store.Worker, []store.Run, time.Time, error) {
	since := w.Clock()
	who, runs, err := w.Queue.Renew(ctx, w.ID, w.epoch, w.term(since))
	if err == nil {
		have := map[paddock.RunID]int64{}
		for _, r := range runs {
			have[r.ID] = r.Fence
		}
		w.mu.Lock()
		w.since, w.have = since, have
		w.mu.Unlock()
	}
	return who, runs, since, err
}

func (w *Worker) term(now time.Time) store.Term {
	at, lost := store.At(now), w.Times.Lost()
	if now.Sub(w.first) < w.inherited { // a supervisor isn't told to end earlier than it was told before
		lost = max(lost, w.inherited)
	}
	return store.Term{Now: at, Until: at.After(w.Times.Lease), LostAfter: at.After(lost)}
}

func (w *Worker) held(r store.Run) store.Held {
	return store.Held{Run: r.ID, Worker: w.ID, Epoch: w.epoch, Fence: r.Fence}
}

// A scene is what was there before the database was asked what is held: what isn't held of
// that was lost. What comes later is newer than the answer.
type scene struct {
	live  []paddock.RunID // of leases
	told  []paddock.RunID // by us
	fault error           // that there may be more
}

func (w *Worker) before(ctx context.Context) (s scene) {
	w.mu.Lock()
	s.told = slices.Collect(maps.Keys(w.told))
	w.mu.Unlock()
	s.live, s.fault = w.Hands.Live(ctx)
	return s
}

// look brings together what is held and what was here before somebody asked for that.
// Since is when the leases were renewed, and zero if they weren't.
func (w *Worker) look(ctx context.Context, here scene, runs []store.Run, since time.Time) error {
	// What keeps runs alive, or ends them, comes first and for all: telling may take long,
	// and the trouble of one is no other's.
	ours := map[paddock.RunID]bool{}
	faults := []error{here.fault}
	var known []store.Run
	for _, r := range runs {
		ours[r.ID] = true
		if w.begins(r.ID) {
			if !r.Cancel.IsZero() {
				w.waiting.Off(r.ID, r.CancelBy, r.CancelWhy)
			}
			continue // what becomes of it will be heard
		}
		known = append(known, r)
		if !since.IsZero() {
			faults = append(faults, w.Hands.Extend(ctx, r.ID, since.Add(w.Times.DeadMan)))
		}
		if !r.Cancel.IsZero() {
			faults = append(faults, w.Hands.Kill(ctx, r.ID, r.CancelBy, r.CancelWhy))
		}
	}
	for _, id := range here.told {
		if !ours[id] {
			w.forget(id)
		}
	}
	for _, id := range here.live {
		if !ours[id] && !w.begins(id) {
			faults = append(faults, w.Hands.Kill(ctx, id, "", "the lease of the run was lost"))
		}
	}
	for _, r := range known {
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
	unsaid := told.Started.IsZero() && !found.Started.IsZero() && r.Started.IsZero()
	if unsaid && found.End == nil {
		if err := w.Queue.Start(ctx, h, store.At(found.Started)); err != nil {
			return w.gone(err, r.ID)
		}
	}
	if found.End != nil {
		end := *found.End
		if unsaid {
			end.Started = store.At(found.Started)
		}
		err := w.Queue.Settle(ctx, h, found.Heads, end)
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

// holds is how many runs it has, with those that are being started.
func (w *Worker) holds() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.told)
	for id := range w.starting {
		if _, both := w.told[id]; !both {
			n++
		}
	}
	return n
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
