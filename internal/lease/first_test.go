//go:build linux

package lease_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/order"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/store/tables/sqlite"
)

// TestOneOrderForManyWorkers plays somebody who can do what he likes with the database:
// each worker is shown one of his, in which the same order waits for it alone. It is
// started by one of them, among which are the server's own, two that call themselves the
// same, and one whose process begins again; also when all of them look at once.
func TestOneOrderForManyWorkers(t *testing.T) {
	fresh := map[string]func(t *testing.T) store.Store{
		"sqlite": func(t *testing.T) store.Store {
			s, err := sqlite.Open(t.Context(), filepath.Join(storetest.Memory(t), "db", "paddock.db"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		"postgres": func(t *testing.T) store.Store {
			s, err := postgres.Open(t.Context(), storetest.Database(t), postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
	}
	for name, open := range fresh {
		t.Run(name, func(t *testing.T) {
			for _, own := range []bool{false, true} { // whether the server's own worker is there before all others
				key := newKey(t)
				first := newWorld(t, opened(t, open), key)
				r, nonce := first.order()
				var machines []*machine
				for i := range 4 {
					w := newWorld(t, opened(t, open), key)
					w.signer, w.now = first.signer, first.now
					m := w.machine(2, 0)
					if i == 0 && own {
						m.config.Nonces, m.config.Signers = first.signer.Nonces, lease.Sole{}
					}
					if i == 2 {
						m.config.ID = machines[1].config.ID // a copy of that machine
						if err := w.store.AddWorker(t.Context(), store.Worker{ID: m.config.ID, Name: "copy", Credential: storetest.Secret(), Mode: store.Open, Created: storetest.Noon}); err != nil {
							t.Fatal(err)
						}
					}
					his := r
					his.Owner = w.user.ID
					if _, _, err := w.store.Enqueue(t.Context(), his, nonce); err != nil {
						t.Fatal(err)
					}
					machines = append(machines, m)
					m.step()
				}
				var all sync.WaitGroup
				for _, m := range machines {
					if own { // one after the other
						m.step()
						continue
					}
					all.Go(m.step)
				}
				all.Wait()
				starts := 0
				for i, m := range machines {
					n := m.world.starts[r.ID]
					starts += n
					if got := m.world.row(r.ID); n == 0 && got.State != paddock.RefusedState || own && i == 0 && n != 1 {
						t.Errorf("at machine %d it was started %d times, and is %s: %s", i, n, got.State, got.Outcome)
					}
				}
				if starts != 1 {
					t.Errorf("it was started %d times", starts)
				}
			}
		})
	}
}

func opened(t *testing.T, open func(*testing.T) store.Store) store.Store {
	t.Helper()
	s := open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestTheSignerIsAway has what a server queued wait as long as that can't be asked, while
// what is others' goes on; and says that it waits.
func TestTheSignerIsAway(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(5, 0, order.Signer(&w.key.Public))
		m.step()
		m.away = true
		id := w.ask(func(r *store.Run) { r.Needs = store.Words{order.Signer(&w.key.Public)} })
		for range 2 {
			if _, _, err := m.worker.Step(t.Context()); err == nil || !strings.Contains(err.Error(), order.Signer(&w.key.Public)) {
				t.Errorf("nobody hears that it waits: %v", err)
			}
			if got := w.row(id); got.State != paddock.Queued {
				t.Fatalf("it is %s", got.State)
			}
		}
		m.away = false
		m.step()
		if w.starts[id] != 1 {
			t.Errorf("it was started %d times", w.starts[id])
		}
		m.here[id].finish(paddock.Exited, w.now)

		// One that was claimed and whose signer goes then has no program.
		m.away = true
		id = w.ask()
		m.step()
		if got := w.row(id); w.starts[id] != 0 || got.State != paddock.FailedToStart {
			t.Errorf("it was started %d times, and is %s", w.starts[id], got.State)
		}
	})
}

// waiting is a signer that never answers.
type waiting struct{ asked chan paddock.RunID }

func (waiting) Reaches(*sign.Public) bool { return true }

func (w waiting) First(ctx context.Context, o order.Order, _ []byte, _ *sign.Public) error {
	w.asked <- o.Run
	<-ctx.Done()
	return ctx.Err()
}

// TestWaitingForTheSigner has a run wait: others are started beside it, its end can be asked
// for meanwhile, and a worker that ends doesn't wait.
func TestWaitingForTheSigner(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(20, 0)
		signer := waiting{make(chan paddock.RunID, 20)}
		m.config.Signers, m.config.Launches = signer, 2
		m.step()
		var ids []paddock.RunID
		for range 5 { // more than are started at a time
			ids = append(ids, w.ask())
		}
		m.step()
		for range ids {
			<-signer.asked
		}
		m.step() // has all of them, and goes on
		w.cancel(ids[0])
		m.step()
		m.worker.Close()
		if got := w.row(ids[0]); got.State != paddock.Killed || !strings.Contains(string(got.Outcome), "enough") {
			t.Errorf("whose end was asked for is %s: %s", got.State, got.Outcome)
		}
		for _, id := range ids[1:] {
			if got := w.row(id); got.State != paddock.FailedToStart {
				t.Errorf("when the worker ends one is %s: %s", got.State, got.Outcome)
			}
		}
		if len(w.starts) != 0 {
			t.Errorf("started were %v", w.starts)
		}
	})
}

// hurried is a signer that notes how long there is to answer, and isn't there.
type hurried struct{ left chan time.Duration }

func (hurried) Reaches(*sign.Public) bool { return true }

func (h hurried) First(ctx context.Context, _ order.Order, _ []byte, _ *sign.Public) error {
	until, ok := ctx.Deadline()
	if !ok {
		h.left <- 0
		return errors.New("for ever")
	}
	h.left <- time.Until(until)
	return errors.New("nobody is there")
}

// TestHowLongTheSignerIsWaitedFor has a run wait for as long as the configuration says, and
// never past the end of its order.
func TestHowLongTheSignerIsWaitedFor(t *testing.T) {
	s := opened(t, func(t *testing.T) store.Store {
		s, err := sqlite.Open(t.Context(), filepath.Join(storetest.Memory(t), "db", "paddock.db"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	for said, most := range map[time.Duration]time.Duration{0: 5 * time.Minute, time.Second: time.Second, 17 * time.Minute: 17 * time.Minute, lease.MostWait: time.Hour} {
		w := newWorld(t, s, newKey(t))
		m := w.machine(20, 0)
		signer := hurried{make(chan time.Duration, 1)}
		m.config.Signers, m.config.Waits = signer, said
		m.step()
		id := w.ask()
		m.step()
		m.worker.Close()
		select {
		case got := <-signer.left:
			if got > most || got < most-most/4 {
				t.Errorf("with %s it has %s; at most %s are meant", said, got, most)
			}
		default:
			t.Error("the signer isn't asked")
		}
		if got := w.row(id); got.State != paddock.FailedToStart {
			t.Errorf("it is %s", got.State)
		}
	}
}

// TestAnOrderThatIsForgotten has a run refused that was queued before the notes of what was
// followed were put back, and a later one started.
func TestAnOrderThatIsForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(5, 0)
		old := w.ask()
		w.now = w.now.Add(time.Second)
		if err := m.config.Nonces.From(w.now); err != nil {
			t.Fatal(err)
		}
		young := w.ask()
		m.step()
		m.step()
		if got := w.row(old); w.starts[old] != 0 || got.State != paddock.RefusedState || !strings.Contains(string(got.Outcome), "ask for the run again") {
			t.Errorf("the older one was started %d times and is %s: %s", w.starts[old], got.State, got.Outcome)
		}
		if w.starts[young] != 1 {
			t.Errorf("the later one was started %d times", w.starts[young])
		}
	})
}

func TestAWorkerWithoutSigners(t *testing.T) {
	if _, err := lease.Begin(t.Context(), lease.Config{Times: lease.Default}); err == nil {
		t.Error("a worker begins that asks nobody")
	}
}
