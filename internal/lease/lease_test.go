//go:build linux

package lease_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/lease"
	"paddock/internal/lease/fair"
	"paddock/internal/lease/order"
	"paddock/internal/lease/watch"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
)

// play has three runs carried out on two machines: one ends by itself, one is
// canceled, one goes on for long. The process of the first machine ends where the
// fuse says, and comes back or doesn't.
func play(w *world, back bool) {
	a, b := w.machine(2, 0), w.machine(2, 50*time.Second) // whose clock is wrong
	a.frail = true
	a.step() // begins
	a.offer()
	_, canceled, long := w.ask(), w.ask(), w.ask()
	a.step()
	b.step()
	b.step()
	for round := 0; !w.over(); round++ {
		if round == 40 {
			for _, id := range w.runs {
				w.errorf("%s is still %s", id, w.row(id).State)
			}
			return
		}
		w.pass(time.Second)
		if round == 1 {
			w.cancel(canceled)
		}
		for _, m := range w.machines {
			for _, p := range m.here {
				p.heads.Events++
			}
			for _, id := range w.runs {
				if id == canceled {
					continue
				}
				if p := m.here[id]; p != nil && p.live() && (id != long || round > 3) {
					p.finish(paddock.Exited, m.clock())
				}
			}
			if m == b || back || a.worker != nil {
				m.step()
			}
		}
		w.look()
	}
}

// TestCrashBetweenEveryTwoWrites ends the worker's process at every point at which it
// has written something, to the database or to its disk, and hasn't done the next.
func TestCrashBetweenEveryTwoWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		key := newKey(t)
		w := newWorld(t, s, key)
		play(w, true)
		points := w.fuse.reached
		if points < 30 {
			t.Fatalf("only %d points", points)
		}
		for _, back := range []bool{true, false} {
			for n := 1; n <= points; n++ {
				t.Run(fmt.Sprintf("%d, comes back: %v", n, back), func(t *testing.T) {
					w := newWorld(t, s, key)
					w.fuse.left = n
					play(w, back)
				})
			}
		}
	})
}

// TestAnythingInAnyOrder does what can happen in orders that nobody thought of.
func TestAnythingInAnyOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		key, outer := newKey(t), t
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(outer, s, key)
			w.errorf = t.Fatalf
			w.machine(2, 0)
			w.machine(1, -50*time.Second)
			for _, m := range w.machines {
				m.frail = true
			}
			one := func() *machine { return rapid.SampledFrom(w.machines).Draw(t, "machine") }
			t.Repeat(map[string]func(*rapid.T){
				"ask": func(t *rapid.T) {
					if len(w.runs) < 6 {
						w.ask()
					}
				},
				"offer": func(t *rapid.T) {
					if len(w.runs) < 6 {
						w.fuse.left = rapid.IntRange(0, 9).Draw(t, "point") // 0 never burns down
						one().offer()
						w.fuse.left = 0
					}
				},
				"cancel": func(t *rapid.T) {
					if len(w.runs) > 0 {
						w.cancel(rapid.SampledFrom(w.runs).Draw(t, "run"))
					}
				},
				"step":  func(*rapid.T) { one().step() },
				"again": func(*rapid.T) { one().step() },
				"crash": func(t *rapid.T) {
					w.fuse.left = rapid.IntRange(1, 12).Draw(t, "point")
					one().step()
					w.fuse.left = 0
				},
				"cut":  func(*rapid.T) { m := one(); m.cut = !m.cut },
				"away": func(*rapid.T) { m := one(); m.away = !m.away },
				"end": func(*rapid.T) {
					m := one()
					for _, id := range w.runs {
						if p := m.here[id]; p != nil && p.live() {
							p.finish(paddock.Exited, m.clock())
							return
						}
					}
				},
				"pass": func(t *rapid.T) {
					w.pass(time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second)
					w.look()
				},
				"": func(*rapid.T) { w.check() },
			})
			for _, m := range w.machines { // in the end everything comes back
				m.cut, m.away = false, false
			}
			for round := 0; !w.over(); round++ {
				if round == 40 {
					t.Fatal("it never ends")
				}
				w.pass(time.Second)
				for _, m := range w.machines {
					for _, p := range m.here {
						if p.live() {
							p.finish(paddock.Exited, m.clock())
						}
					}
					m.step()
				}
				w.look()
			}
		})
	})
}

func TestSilence(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(5, -time.Minute) // whose clock is wrong
		id := w.ask()
		m.step()
		m.step()
		w.pass(time.Second)
		m.step()
		want := func(state paddock.State) {
			t.Helper()
			w.look()
			if got := w.row(id).State; got != state {
				t.Fatalf("after %s it is %s, not %s", w.now.Sub(storetest.Noon.Time), got, state)
			}
			w.check()
		}
		want(paddock.Running)
		m.cut = true
		w.pass(times.Lease - time.Second)
		want(paddock.Running)
		w.pass(time.Second)
		want(paddock.Unreachable)
		m.cut = false
		m.step()
		want(paddock.Running)
		m.cut = true
		w.pass(times.Lost() - time.Millisecond)
		want(paddock.Unreachable)
		w.pass(time.Millisecond)
		want(paddock.Lost)
		m.cut = false
		m.step() // it had ended by itself: nothing to write any more
		want(paddock.Lost)

		// A watch that begins now has seen nothing, and waits as long as any.
		id = w.ask()
		m.step()
		w.pass(time.Second)
		m.step()
		m.cut = true
		w.pass(time.Hour)
		var err error
		if w.watch, err = watch.New(s, times); err != nil {
			t.Fatal(err)
		}
		want(paddock.Running)
		w.pass(times.Lost())
		want(paddock.Lost)
	})
}

// TestWhatWasGivenUpIsEnded has a run go on that others were told is lost, since its supervisor
// doesn't hear that its time is over: its worker ends it as soon as it hears of that, also a
// process that never had it.
func TestWhatWasGivenUpIsEnded(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		for _, again := range []bool{false, true} {
			w := newWorld(t, s, newKey(t))
			m := w.machine(2, 0)
			m.step()
			id := w.ask()
			m.step()
			p := m.here[id]
			p.until = w.now.Add(24 * time.Hour)
			m.cut = true
			for range 2 { // the first time it is seen
				if _, err := w.watch.Look(t.Context(), w.now); err != nil {
					t.Fatal(err)
				}
				w.pass(times.Lost())
			}
			if got := w.row(id).State; got != paddock.Lost || !p.live() {
				t.Fatalf("it is %s, and goes on: %t", got, p.live())
			}
			if again {
				m.crash()
			}
			m.cut = false
			m.step()
			if got := w.row(id).State; got != paddock.Lost || p.live() {
				t.Errorf("another process: %t: it is %s, and goes on: %t", again, got, p.live())
			}
		}
	})
}

// TestCountsFromBeforeItAsked has answers come late: supervisors may go on for the
// dead-man time from before the question, since a watch counts from its arrival. And
// what was claimed too late isn't started.
func TestCountsFromBeforeItAsked(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(2, 0)
		id := w.ask()
		m.step()
		m.step()
		asked := w.now
		m.slow = 2 * time.Second
		m.step()
		if want := asked.Add(times.DeadMan); m.here[id].until != want {
			t.Errorf("it may go on until %s, not %s", m.here[id].until, want)
		}
		slow := w.ask() // is renewed before it is started, and counts from there
		begun := w.now
		m.step()
		if got := m.here[slow]; got == nil || w.starts[slow] != 1 || !got.until.After(begun.Add(times.DeadMan)) {
			t.Errorf("what was claimed slowly was started %d times: %+v", w.starts[slow], got)
		}
		late := w.ask()
		m.config.Capacity, m.slow = 9, times.Lease
		m.crash()
		m.step()
		m.step()
		if got := w.row(late); w.starts[late] != 0 || got.State != paddock.FailedToStart {
			t.Errorf("what was claimed too late was started %d times, and is %s", w.starts[late], got.State)
		}
		w.check()
	})
}

// TestLostLease sees that a worker ends what it no longer holds, although its
// supervisor would go on.
func TestLostLease(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(1, 0)
		id := w.ask()
		m.step()
		m.step()
		m.here[id].until = w.now.Add(time.Hour) // a supervisor that doesn't keep its promise
		w.look()
		w.now = w.now.Add(times.Lost())
		if _, err := w.watch.Look(t.Context(), w.now); err != nil {
			t.Fatal(err)
		}
		m.step()
		if m.here[id].live() {
			t.Error("it goes on")
		}
		if got := w.row(id).State; got != paddock.Lost {
			t.Error("it is", got)
		}
		// Another process with the same credential takes over: this one must stop.
		if _, err := lease.Begin(t.Context(), m.config); err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.worker.Step(t.Context()); !errors.Is(err, store.ErrFenced) {
			t.Error(err)
		}
	})
}

func TestCordonAndDrain(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(5, 0)
		first := w.ask()
		m.step()
		m.step()
		for _, mode := range []store.Mode{store.Cordoned, store.Draining} {
			if err := s.SetWorkerMode(t.Context(), m.config.ID, mode); err != nil {
				t.Fatal(err)
			}
			next := w.ask()
			got, held, err := m.worker.Step(t.Context())
			if err != nil || got != mode || held != 1 || w.row(next).State != paddock.Queued {
				t.Errorf("%s: got %s, %d, %v", mode, got, held, err)
			}
		}
		m.here[first].finish(paddock.Exited, w.now)
		if _, held, err := m.worker.Step(t.Context()); err != nil || held != 0 {
			t.Errorf("drained: %d, %v", held, err)
		}
		if err := s.SetWorkerMode(t.Context(), m.config.ID, store.Open); err != nil {
			t.Fatal(err)
		}
		m.step()
		if len(m.here) != 3 {
			t.Errorf("it has %d runs", len(m.here))
		}
	})
}

// TestWhoOwnsTheDatabase plays somebody who can write what he likes to it, and gets
// nothing started that nobody asked for, nor anything twice.
func TestWhoOwnsTheDatabase(t *testing.T) {
	address := storetest.Database(t)
	s := openPostgres(t, address)
	w := newWorld(t, s, newKey(t))
	m := w.machine(50, 0)
	m.step()
	m.step()
	good := w.ask()
	envelope := w.row(good).Envelope // who owns the database has copies of what is gone
	m.step()
	if w.starts[good] != 1 {
		t.Fatal("what was ordered isn't started")
	}
	m.here[good].finish(paddock.Exited, w.now)
	m.step()

	stranger := newKey(t)
	bad := map[string]func(*store.Run){
		"a key of his own": func(r *store.Run) {
			o, err := order.New(r.ID, paddock.Request{Command: paddock.Command{Argv: []string{"true"}}}, w.now, time.Hour, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Envelope, err = o.Seal(stranger); err != nil {
				t.Fatal(err)
			}
		},
		"the envelope of another run": func(r *store.Run) { r.Envelope = envelope },
		"no signature":                func(r *store.Run) { r.Envelope = store.Blob(`{"argv":["true"]}`) },
		"another payload": func(r *store.Run) {
			r.Envelope = bytes.Replace(r.Envelope, []byte("payload\":\"ey"), []byte("payload\":\"eY"), 1)
		},
		"what the policy refuses": func(r *store.Run) {
			o, err := order.New(r.ID, paddock.Request{Command: paddock.Command{Argv: []string{"rm"}}}, w.now, time.Hour, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Envelope, err = o.Seal(w.key); err != nil {
				t.Fatal(err)
			}
		},
		"an old order": func(r *store.Run) {
			o, err := order.New(r.ID, paddock.Request{Command: paddock.Command{Argv: []string{"true"}}}, w.now.Add(-2*time.Hour), time.Hour, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Envelope, err = o.Seal(w.key); err != nil {
				t.Fatal(err)
			}
		},
	}
	for what, change := range bad {
		id := w.ask(change)
		m.step()
		if r := w.row(id); w.starts[id] != 0 || r.State != paddock.RefusedState {
			t.Errorf("%s: started %d times, %s", what, w.starts[id], r.State)
		}
	}

	// He puts back what was carried out, as if it never was.
	m.crash()
	delete(m.here, good) // and the directory is pruned
	storetest.Do(t, address, "UPDATE runs SET state = 'queued', worker = '', fence = 0, claimed = 0, started = 0, settled = 0, outcome = '', envelope = $2 WHERE id = $1", string(good), []byte(envelope))
	delete(w.settled, good)
	m.step()
	m.step()
	if w.starts[good] != 1 || w.row(good).State != paddock.RefusedState {
		t.Errorf("what was put back was started %d times, and is %s", w.starts[good], w.row(good).State)
	}

	// He gives another worker's run to this one.
	other := w.machine(1, 0)
	id := w.ask()
	if err := s.SetWorkerMode(t.Context(), m.config.ID, store.Cordoned); err != nil {
		t.Fatal(err)
	}
	other.step()
	other.step()
	storetest.Do(t, address, "UPDATE runs SET worker = $1 WHERE id = $2", string(m.config.ID), string(id))
	m.step()
	other.step()
	if w.starts[id] != 1 {
		t.Errorf("it was started %d times", w.starts[id])
	}
}

func TestTimesThatMakeNoSense(t *testing.T) {
	for _, bad := range []lease.Times{{}, {Beat: 1, Lease: 1, DeadMan: 9, Margin: 1}, {Beat: 1, Lease: 4, DeadMan: 4, Margin: 1}, {Beat: 1, Lease: 4, DeadMan: 9}} {
		if _, err := watch.New(nil, bad); err == nil {
			t.Errorf("a watch with %+v", bad)
		}
		if _, err := lease.Begin(t.Context(), lease.Config{Times: bad}); err == nil {
			t.Errorf("a worker with %+v", bad)
		}
	}
	if _, err := watch.New(nil, lease.Default); err != nil {
		t.Error(err)
	}
}

// TestShares has owners of very different appetite wait for one worker.
func TestShares(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(4, 0, "linux")
		m.config.Limits = fair.Limits{Owner: 3, Workspace: 1}
		for range 40 {
			w.ask(func(r *store.Run) { r.Needs = store.Words{"gpu"} }) // which this worker can't
		}
		var hers []paddock.RunID
		for i := range 5 {
			hers = append(hers, w.ask(func(r *store.Run) { r.Needs, r.Priority = store.Words{"linux"}, int64(i) }))
		}
		w.user = storetest.NewUser(t, s, store.Operator)
		one := w.ask(func(r *store.Run) { r.Workspace, r.Priority = "w1", 1 })
		two := w.ask(func(r *store.Run) { r.Workspace = "w1" })
		m.step()
		m.step()
		if len(m.here) != 4 || m.here[one] == nil || m.here[two] != nil {
			t.Fatalf("%d runs, %v and %v of the modest one", len(m.here), m.here[one], m.here[two])
		}
		for i, id := range hers {
			if (m.here[id] != nil) != (i >= 2) {
				t.Errorf("of her runs, number %d is there: %v", i, m.here[id] != nil)
			}
		}
		m.here[one].finish(paddock.Exited, w.now)
		m.step()
		if m.here[two] == nil {
			t.Error("the workspace is free, and the run isn't taken")
		}
	})
}
