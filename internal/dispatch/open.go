package dispatch

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

	"paddock/internal/app"
	"paddock/internal/dispatch/hands"
	"paddock/internal/dispatch/rows"
	"paddock/internal/dispatch/shift"
	"paddock/internal/dispatch/shift/hint"
	"paddock/internal/executor"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/order"
	"paddock/internal/lease/timely"
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
	// Alone says that nobody else can look after its runs, or say that it is silent: then
	// they go on when this process is gone, for as long as they like.
	Alone bool
	// Times are the usual ones where they are zero.
	Times  lease.Times
	Limits lease.Limits
	// Hints calls heard with the hints of the store until ctx ends or that fails; nil
	// where this process is the only one.
	Hints func(ctx context.Context, heard func(string)) error
	Now   func() time.Time
	Warn  func(error)
	// Traces is told how long things took; nil isn't.
	Traces *trace.Tracer
}

// bells are rung by hints and by what happens here.
type bells struct {
	queued, changed, told, looked hint.Bell

	own    shift.Own
	offers store.Offers // of the process that queues, too
}

// Work carries out runs until ctx ends or the worker is drained (nil) or given up. Runs
// go on.
func (m Machine) Work(ctx context.Context, queue store.Queue) error {
	var b bells
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	if m.Hints != nil {
		beside.Go(func() { m.listen(ctx, &b) })
	}
	return m.work(ctx, queue, &b)
}

func (m Machine) work(ctx context.Context, queue store.Queue, b *bells) error {
	nonces, err := order.NoncesIn(m.Executor.StateDir())
	if err != nil {
		return err
	}
	times := cmp.Or(m.Times, lease.Default)
	h := hands.New(ctx, hands.Config{Executor: m.Executor, Lasting: m.Alone, Warn: m.Warn, Traces: m.Traces, Worker: string(m.ID), Now: m.Now, Changed: func() { b.changed.Ring(); b.told.Ring() }})
	defer h.Close()
	s := shift.Shift{
		Config: lease.Config{
			ID: m.ID, Labels: rows.Labels(m.Labels, m.Keys), Capacity: cmp.Or(m.Capacity, Capacity), Version: m.Version, Queue: timely.Of(queue, times), Hands: h,
			Keys: m.Keys, Nonces: nonces, Times: times, Limits: m.Limits, Clock: m.Now, Launches: launches,
			Offers: b.offers,
		},
		Queued: &b.queued, Changed: &b.changed, Told: &b.told, Looked: &b.looked, Own: &b.own, Warn: m.Warn,
	}
	return s.Work(ctx)
}

// listen rings the bells for the store's hints. Without hints there are ticks.
func (m Machine) listen(ctx context.Context, b *bells) {
	for ctx.Err() == nil {
		err := m.Hints(ctx, func(what string) {
			switch kind, worker, _ := strings.Cut(what, " "); {
			case kind == "q":
				b.queued.Ring()
			case kind == "c" && worker == string(m.ID), kind == "":
				b.changed.Ring()
			}
			b.told.Ring()
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

// A Store has what a Service needs of one.
type Store interface {
	store.Runs
	store.Queue
	store.Offers
	store.Workers
}

// A Service is a server's queue: its front, perhaps a worker of its own, and a watch over
// all workers. See [Open].
type Service struct {
	*Front
	Workers store.Workers
	end     context.CancelFunc
	work    sync.WaitGroup
}

// Open begins a service. With idle it only queues, and m.Executor isn't used. m.ID and
// m.Keys are made of the key.
func Open(ctx context.Context, rooms *app.App, s Store, key *sign.Key, m Machine, idle bool, elsewhere Elsewhere) (*Service, error) {
	m.ID, m.Keys = WorkerOf(&key.Public), []*sign.Public{&key.Public}
	b := bells{offers: s}
	c := Config{App: rooms, Runs: s, Key: key, Worker: m.ID, Elsewhere: elsewhere, Shared: !m.Alone, Queued: &b.queued, Changed: &b.changed, Told: &b.told, Looked: &b.looked, Own: &b.own, Now: m.Now, Traces: m.Traces}
	if idle {
		c.Worker = ""
	} else if err := enlisted(ctx, s, m); err != nil {
		return nil, err
	}
	times := cmp.Or(m.Times, lease.Default)
	watch, err := lease.NewWatch(timely.Of(s, times), times)
	if err != nil {
		return nil, err
	}
	v := &Service{Front: New(c), Workers: s}
	ctx, v.end = context.WithCancel(context.WithoutCancel(ctx))
	if !idle {
		v.work.Go(func() {
			for ctx.Err() == nil {
				if err := m.work(ctx, s, &b); err != nil && ctx.Err() == nil {
					m.Warn(fmt.Errorf("the server's own worker has ended, and nothing that is queued is started here: %w", err))
					return
				}
				select { // it was drained; an admin may open it again
				case <-ctx.Done():
				case <-time.After(lease.Default.Lease):
				}
			}
		})
	}
	if m.Hints != nil {
		v.work.Go(func() { m.listen(ctx, &b) })
	}
	if !m.Alone {
		v.work.Go(func() { m.watch(ctx, watch, &b) })
	}
	return v, nil
}

// Close ends what the service does beside answering. Runs go on.
func (v *Service) Close() {
	v.end()
	v.work.Wait()
}

// watch finds workers that have fallen silent.
func (m Machine) watch(ctx context.Context, w *lease.Watch, b *bells) {
	t := time.NewTicker(cmp.Or(m.Times, lease.Default).Beat)
	defer t.Stop()
	var said string
	for {
		lost, err := w.Look(ctx, m.Now())
		if len(lost) > 0 {
			b.told.Ring()
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

// enlisted adds the server's own worker where it isn't known yet. Nobody shows its
// credential.
func enlisted(ctx context.Context, s store.Workers, m Machine) error {
	err := s.AddWorker(ctx, store.Worker{
		ID: m.ID, Name: "server " + string(m.ID[2:10]), Credential: sha256.Sum256([]byte(rand.Text())), Labels: m.Labels,
		Capacity: cmp.Or(m.Capacity, Capacity), Mode: store.Open, Created: store.At(m.Now()),
	})
	if errors.Is(err, store.ErrExists) {
		return nil
	}
	return err
}
