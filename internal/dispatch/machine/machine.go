// Package machine is what carries out the runs of a queue in one process: an executor, its
// shift at the queue, the hints that wake it, and the watch over others.
//
// # Limits
//
// It judges nothing and answers nobody: orders are judged by package lease and by the
// executor's own policy, and doors ask package dispatch.
package machine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"paddock/internal/dispatch/machine/hands"
	"paddock/internal/dispatch/machine/shift"
	"paddock/internal/dispatch/machine/shift/hint"
	"paddock/internal/dispatch/machine/timed"
	"paddock/internal/executor"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/fair"
	"paddock/internal/lease/order"
	"paddock/internal/lease/timely"
	"paddock/internal/lease/watch"
	"paddock/internal/store"
	"paddock/internal/trace"
)

// Capacity is how many runs a worker carries out at once that isn't told.
const Capacity = 1000

// launches is how many runs a worker starts at a time.
const launches = 8

// A Machine is what carries out runs: its executor, and who it is.
type Machine struct {
	Executor *executor.Executor
	ID       store.WorkerID
	Labels   []string
	Capacity int64
	Version  string
	// Keys are those whose orders are followed.
	Keys []*sign.Public
	// Signers say which of the workers that follow those may follow an order.
	Signers lease.Signers
	// Waits is how long a run that was claimed waits for them; 0 is as usual.
	Waits time.Duration
	// Alone says that nobody else can look after its runs, or say that it is silent: then
	// they go on when this process is gone, for as long as they like.
	Alone bool
	// Times are the usual ones where they are zero.
	Times  lease.Times
	Limits fair.Limits
	// Spaces are roots in which workspaces are, each as ROOT/ACCOUNT/NAME, for a server.
	Spaces []string
	// Hints calls heard with the hints of the store until ctx ends or that fails; nil
	// where this process is the only one.
	Hints func(ctx context.Context, heard func(string)) error
	// Beside, if not nil, is done until the work ends.
	Beside func(ctx context.Context)
	Now    func() time.Time
	Warn   func(error)
	// Traces is told how long things took; nil isn't.
	Traces *trace.Tracer
}

// Bells are rung by hints and by what happens here.
type Bells struct {
	Queued, Changed, Told, Looked hint.Bell

	Own    shift.Own
	Offers store.Offers // of the process that queues, too
}

// Work carries out runs until ctx ends or the worker is drained (nil) or given up. Runs
// go on.
func (m Machine) Work(ctx context.Context, queue store.Queue) error {
	var b Bells
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	if m.Hints != nil {
		beside.Go(func() { m.Listen(ctx, &b) })
	}
	if m.Beside != nil {
		beside.Go(func() { m.Beside(ctx) })
	}
	return m.Carry(ctx, queue, &b)
}

// Carry is Work with bells that others ring, too.
func (m Machine) Carry(ctx context.Context, queue store.Queue, b *Bells) error {
	nonces, err := order.NoncesIn(m.Executor.StateDir())
	if err != nil {
		return err
	}
	times := cmp.Or(m.Times, lease.Default)
	h := hands.New(ctx, hands.Config{Executor: m.Executor, Lasting: m.Alone, Warn: m.Warn, Traces: m.Traces, Worker: string(m.ID), Now: m.Now, Changed: func() { b.Changed.Ring(); b.Told.Ring() }})
	defer h.Close()
	rows, offers := timed.Of(timely.Of(queue, times), b.Offers, timed.Config{Traces: m.Traces, Keys: m.Keys, Worker: string(m.ID), Now: m.Now})
	s := shift.Shift{
		Config: lease.Config{
			ID: m.ID, Labels: Labels(m.Labels, m.Keys), Capacity: cmp.Or(m.Capacity, Capacity), Version: m.Version, Queue: rows, Hands: h,
			Keys: m.Keys, Nonces: nonces, Signers: m.Signers, Waits: m.Waits, Times: times, Limits: m.Limits, Clock: m.Now, Launches: launches,
			Offers: offers,
		},
		Queued: &b.Queued, Changed: &b.Changed, Told: &b.Told, Looked: &b.Looked, Own: &b.Own, Warn: m.Warn,
	}
	return s.Work(ctx)
}

// Listen rings the bells for the store's hints. Without hints there are ticks.
func (m Machine) Listen(ctx context.Context, b *Bells) {
	for ctx.Err() == nil {
		err := m.Hints(ctx, func(what string) {
			switch kind, worker, _ := strings.Cut(what, " "); {
			case kind == "q":
				b.Queued.Ring()
			case kind == "c" && worker == string(m.ID), kind == "":
				b.Changed.Ring()
			}
			b.Told.Ring()
		})
		if ctx.Err() != nil {
			return
		}
		m.Warn(fmt.Errorf("no hints for a moment; runs are looked for at each beat: %w", err))
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// Watch finds workers that have fallen silent.
func (m Machine) Watch(ctx context.Context, w *watch.Watch, b *Bells) {
	t := time.NewTicker(cmp.Or(m.Times, lease.Default).Beat)
	defer t.Stop()
	var said string
	for {
		lost, err := w.Look(ctx, m.Now())
		if len(lost) > 0 {
			b.Told.Ring()
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			m.Warn(fmt.Errorf("looking for silent workers: %w", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Enlist adds the server's own worker where it isn't known yet. Nobody shows its
// credential. Where nobody else can be at the store, what others have there is of workers
// that this one was, before its key was lost, taken away or, with a backup, left behind:
// nobody but it says what became of that.
func Enlist(ctx context.Context, s store.Workers, m Machine) error {
	err := s.AddWorker(ctx, store.Worker{
		ID: m.ID, Name: "server " + string(m.ID[2:10]), Credential: sha256.Sum256([]byte(rand.Text())), Labels: m.Labels,
		Capacity: cmp.Or(m.Capacity, Capacity), Mode: store.Open, Created: store.At(m.Now()),
	})
	if errors.Is(err, store.ErrExists) {
		err = nil
	}
	if err == nil && m.Alone {
		_, err = s.TakeOver(ctx, m.ID)
	}
	return err
}
