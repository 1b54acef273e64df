//go:build linux

package server_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/dispatch/machine/shift"
	"paddock/internal/dispatch/machine/shift/hint"
	"paddock/internal/dispatch/rows"
	"paddock/internal/executor"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/order"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
	"paddock/internal/trace"
)

// asker is whose runs are queued.
var asker = paddock.Principal{Kind: paddock.User, ID: "user:alice"}

// A receiver has been handed a run when it is told to launch it: what a processor of
// BullMQ is. It says that the run is over at once.
type receiver struct {
	got chan time.Time
	mu  sync.Mutex
	has map[paddock.RunID]bool // guarded by mu
}

func (r *receiver) Launch(_ context.Context, o order.Order, _ time.Time) error {
	r.mu.Lock()
	r.has[o.Run] = true
	r.mu.Unlock()
	r.got <- time.Now()
	return nil
}

func (r *receiver) Look(_ context.Context, id paddock.RunID) (lease.Found, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := lease.Found{Here: r.has[id]}
	if f.Here {
		v := storetest.Verdict(paddock.Exited)
		f.Started, f.End = v.At.Time, &v
	}
	return f, nil
}

func (r *receiver) Live(context.Context) ([]paddock.RunID, error)             { return nil, nil }
func (r *receiver) Extend(context.Context, paddock.RunID, time.Time) error    { return nil }
func (r *receiver) Kill(context.Context, paddock.RunID, string, string) error { return nil }

// How long it takes from a signed order that is queued until the worker has it: both
// synced to the disk, and the nonce that keeps it from being followed twice.
func TestQueuedToHanded(t *testing.T) {
	state := t.TempDir()
	s, err := sqlite.Open(t.Context(), filepath.Join(state, "server.db"))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	key, err := sign.Create(filepath.Join(state, "key"))
	must(t, err)
	who := storetest.NewWorker(t, s)
	nonces, err := order.NoncesIn(state)
	must(t, err)
	hands := &receiver{got: make(chan time.Time, 1), has: map[paddock.RunID]bool{}}
	var queued, changed, told, looked hint.Bell
	var own shift.Own
	sh := shift.Shift{
		Config: lease.Config{ID: who.ID, Capacity: 1000, Queue: s, Hands: hands, Keys: []*sign.Public{&key.Public}, Nonces: nonces, Signers: lease.Sole{},
			Times: lease.Default, Clock: time.Now, Launches: 8, Offers: s},
		Queued: &queued, Changed: &changed, Told: &told, Looked: &looked, Own: &own, Warn: func(err error) { t.Error(err) },
	}
	ctx, cancel := context.WithCancel(t.Context())
	var over sync.WaitGroup
	ready := looked.Rung()
	over.Go(func() { _ = sh.Work(ctx) }) // it ends since ctx does
	defer over.Wait()
	defer cancel()
	<-ready
	var handed []float64
	for range sized(300, 3) {
		begun := time.Now()
		row, nonce, err := rows.Entry(paddock.Request{Principal: asker, Door: paddock.DoorHTTP, Command: paddock.Command{Argv: []string{"true"}}}, rows.Placement{}, "", trace.Context{}, key, begun)
		must(t, err)
		_, _, taken, ok, err := own.Offer(t.Context(), row, nonce)
		if err != nil || !taken || !ok {
			t.Fatal("it wasn't taken at once: ", err)
		}
		handed = append(handed, milliseconds((<-hands.got).Sub(begun)))
		changed.Ring()
		settled(t, s, &looked, row.ID)
	}
	tell(t, "asked to the worker that has it, queued and claimed, synced", handed)
}

// settled waits until a row says that its run is over.
func settled(t *testing.T, s store.Runs, looked *hint.Bell, id paddock.RunID) {
	t.Helper()
	for {
		again := looked.Rung()
		r, err := s.Run(t.Context(), store.Everyone(), id)
		must(t, err)
		if r.State.Settled() {
			return
		}
		<-again
	}
}

// The same with everything that a run is: judged twice, journalled, in a directory, by a
// supervisor.
func TestQueuedToStarted(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	state := filepath.Join(dir, "state")
	text := "version: 1\nroots: [{path: " + dir + "}]\nexecutables: [{name: 'true', path: /bin/true, args: any}]\ncontainment: {require: off}\n"
	e, err := executor.Open(t.Context(), executor.Config{State: state, Policy: executor.PolicyText("policy.yaml", []byte(text)), Stage: testproc.Build(t, "paddock/cmd/paddock-stage"), Warm: 2})
	must(t, err)
	house := app.New(e)
	defer func() { must(t, house.Close()) }()
	s, err := sqlite.Open(t.Context(), filepath.Join(state, "server.db"))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	key, err := sign.Create(filepath.Join(dir, "key"))
	must(t, err)
	v, err := dispatch.Open(t.Context(), house, s, key, dispatch.Machine{Executor: e, Alone: true, Now: time.Now, Warn: func(err error) { t.Error(err) }}, false, nil)
	must(t, err)
	defer v.Close()
	var started, over []float64
	for range sized(300, 3) {
		begun := time.Now()
		run, err := v.Start(t.Context(), paddock.Request{Principal: asker, Door: paddock.DoorHTTP, Command: paddock.Command{Argv: []string{"true"}}})
		must(t, err)
		started = append(started, milliseconds(time.Since(begun)))
		for !run.State.Settled() {
			run, err = v.Wait(t.Context(), asker, run.ID, time.Minute)
			must(t, err)
		}
		over = append(over, milliseconds(time.Since(begun)))
	}
	tell(t, "asked to the program that started, by the queue, synced", started)
	tell(t, "asked to the record of its end, by the queue, synced", over)
}
