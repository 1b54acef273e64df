package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"paddock/internal/app"
	"paddock/internal/dispatch/machine"
	"paddock/internal/dispatch/rows"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/timely"
	"paddock/internal/lease/watch"
	"paddock/internal/store"
)

// A Machine is what carries out runs: its executor, and who it is.
type Machine = machine.Machine

// Capacity is how many runs a worker carries out at once that isn't told.
const Capacity = machine.Capacity

// A Store has what a Service needs of one.
type Store interface {
	rows.Rows
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
// m.Keys are made of the key; others are let follow it by the notes of m's worker.
func Open(ctx context.Context, rooms *app.App, s Store, key *sign.Key, m Machine, idle bool, elsewhere Elsewhere) (*Service, error) {
	m.ID, m.Keys = machine.WorkerOf(&key.Public), []*sign.Public{&key.Public}
	m.Signers = lease.Sole{}
	b := machine.Bells{Offers: s}
	c := Config{App: rooms, Runs: s, Key: key, Worker: m.ID, Elsewhere: elsewhere, Shared: !m.Alone, Queued: &b.Queued, Changed: &b.Changed, Told: &b.Told, Looked: &b.Looked, Own: &b.Own, Spaces: m.Spaces, Now: m.Now, Warn: m.Warn, Traces: m.Traces}
	if idle {
		c.Worker = ""
	} else if err := machine.Enlist(ctx, s, m); err != nil {
		return nil, err
	}
	times := cmp.Or(m.Times, lease.Default)
	silent, err := watch.New(timely.Of(s, times), times)
	if err != nil {
		return nil, err
	}
	v := &Service{Front: New(c), Workers: s}
	ctx, v.end = context.WithCancel(context.WithoutCancel(ctx))
	if !idle {
		v.work.Go(func() {
			for ctx.Err() == nil {
				if err := m.Carry(ctx, s, &b); err != nil && ctx.Err() == nil {
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
	if m.Beside != nil {
		v.work.Go(func() { m.Beside(ctx) })
	}
	v.work.Go(func() { v.copies.Keep(ctx, rooms, b.Told.Rung) })
	if m.Hints != nil {
		v.work.Go(func() { m.Listen(ctx, &b) })
	}
	if !m.Alone {
		v.work.Go(func() { m.Watch(ctx, silent, &b) })
	}
	return v, nil
}

// Close ends what the service does beside answering. Runs go on.
func (v *Service) Close() {
	v.end()
	v.work.Wait()
}
