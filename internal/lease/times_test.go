//go:build linux

package lease_test

import (
	"testing"
	"time"

	"paddock"
	"paddock/internal/lease"
	"paddock/internal/store"
)

// A worker whose times are longer than its watch's is waited for as it said itself, and
// when it begins again with shorter ones nothing is lost while a supervisor may still go
// on by the longer. Shorter ones than the watch's make nobody hurry.
func TestLongerTimesAreWaitedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, newKey(t))
		m := w.machine(1, -50*time.Second)
		m.config.Times = lease.Times{Beat: time.Second, Lease: 10 * time.Second, DeadMan: 40 * time.Second, Margin: 10 * time.Second}
		id := w.ask()
		m.step()
		m.step()
		m.step()
		want := func(states ...paddock.State) {
			t.Helper()
			w.look()
			for i, id := range w.runs {
				if got := w.row(id).State; got != states[i] {
					t.Errorf("after %s run %d is %s, not %s", w.now.Sub(m.clock()), i, got, states[i])
				}
			}
			w.check()
		}
		want(paddock.Running)
		m.cut = true
		w.pass(10*time.Second - 1)
		want(paddock.Running)
		w.pass(1)
		want(paddock.Unreachable)
		m.cut = false
		m.config.Times = lease.Times{Beat: time.Second, Lease: 2 * time.Second, DeadMan: 3 * time.Second, Margin: time.Second}
		m.crash()
		m.step() // begins, and takes the run up; then its process dies again
		want(paddock.Running)
		m.cut = true
		w.pass(50*time.Second - 1)
		want(paddock.Unreachable)
		w.pass(1)
		want(paddock.Lost)
		if m.here[id].live() {
			t.Error("it goes on")
		}

		m.cut = false
		m.step()
		w.pass(time.Minute) // by now no supervisor has longer times
		m.step()
		w.ask()
		m.step()
		m.step()
		want(paddock.Lost, paddock.Running)
		m.cut = true
		w.pass(times.Lost() - 1)
		want(paddock.Lost, paddock.Unreachable)
		w.pass(1)
		want(paddock.Lost, paddock.Lost)
	})
}
