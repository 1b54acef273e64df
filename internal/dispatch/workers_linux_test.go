package dispatch_test

import (
	"context"
	"encoding/json/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/dispatch/rows"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/order"
	"paddock/internal/lease/order/warrant"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/testproc/cluster"
)

// A field is a database with a server that only queues, and a worker's own user of it.
type field struct {
	t       *testing.T
	address string // the server's
	theirs  string // a worker's
	admin   *tables.Tables
	door    *box
	service *dispatch.Service
	times   lease.Times
	now     func() time.Time // the server's clock
}

func newField(t *testing.T, times lease.Times) *field { return newFieldAt(t, times, time.Now) }

// newFieldAt is newField with a server that has its own clock.
func newFieldAt(t *testing.T, times lease.Times, now func() time.Time) *field {
	t.Helper()
	f := &field{t: t, address: storetest.Database(t), door: newBox(t), times: times, now: now}
	f.admin = database(t, f.address, postgres.Options{MostConnections: 4})
	f.theirs = workerUser(t, f.address)
	f.service, _ = f.door.serve(f.admin, true, func(m *dispatch.Machine) {
		m.Alone, m.Times, m.Hints, m.Now = false, times, hints(f.address), now
	})
	return f
}

// workerUser makes a database user with a worker's rights, and returns its address.
func workerUser(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := "w" + strings.TrimPrefix(u.Path, "/")
	boss, err := url.Parse(cluster.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	boss.Path = u.Path
	storetest.Do(t, boss.String(), "CREATE ROLE "+name+" LOGIN PASSWORD 'worker'")
	for _, right := range postgres.WorkerRights {
		storetest.Do(t, address, strings.Replace(right, "ROLE", name, 1))
	}
	u.User = url.UserPassword(name, "worker")
	return u.String()
}

// worker lets a new machine work with a worker's rights.
func (f *field) worker(id store.WorkerID, change func(*dispatch.Machine)) (b *box, m dispatch.Machine, stop func()) {
	f.t.Helper()
	b = newBox(f.t)
	m = b.worker(f.admin, id, func(m *dispatch.Machine) {
		m.Keys, m.Times, m.Hints = []*sign.Public{&f.door.key.Public}, f.times, hints(f.theirs)
		m.Signers = f.asks(id)
		if change != nil {
			change(m)
		}
	})
	return b, m, work(f.t, m, database(f.t, f.theirs, postgres.Options{NoMigration: true, MostConnections: 4}))
}

// An asking worker asks the server without a connection between them.
type asking struct {
	*warrant.Giver
	worker, asker string
}

func (f *field) asks(id store.WorkerID) asking {
	f.t.Helper()
	nonces, err := order.NoncesIn(f.door.state)
	if err != nil {
		f.t.Fatal(err)
	}
	return asking{&warrant.Giver{Key: f.door.key, Nonces: nonces, Now: time.Now}, string(id), warrant.NewAsker()}
}

func (asking) Reaches(*sign.Public) bool { return true }

func (a asking) First(_ context.Context, o order.Order, envelope []byte, by *sign.Public) error {
	text, err := a.Give(envelope, o.Run, a.worker, a.asker)
	if err != nil {
		return err
	}
	return warrant.Check(text, o, by, a.worker, a.asker)
}

// Who owns the database shows an order to one worker after the other, as if nobody had it:
// also to the server's own. One of them carries it out.
func TestAnOrderIsShownToAll(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	names := []store.WorkerID{"one", "two", "three"}
	mark := filepath.Join(f.door.work, "mark")
	for _, id := range names {
		f.worker(id, func(m *dispatch.Machine) { m.Labels = []string{"only-" + string(id)} })
	}
	id, err := paddock.NewRunID(time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req := request(alice, "echo x >>"+mark)
	o, err := order.New(id, req, time.Now(), time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := o.Seal(f.door.key)
	if err != nil {
		t.Fatal(err)
	}
	r := store.Run{ID: id, Owner: rows.Owner(alice), Principal: alice.ID, State: paddock.Queued, Envelope: envelope, Request: o.Digest, Created: store.At(time.Now()), Needs: []string{"only-one"}}
	if _, _, err := f.admin.Enqueue(t.Context(), r, o.Nonce); err != nil {
		t.Fatal(err)
	}
	if got := settled(t, f.admin, id); got.State != paddock.Exited || got.Worker != "one" {
		t.Fatalf("%s at %s: %s", got.State, got.Worker, got.Outcome)
	}
	f.door.serve(database(t, f.address, postgres.Options{MostConnections: 4}), false, func(m *dispatch.Machine) {
		m.Alone, m.Times, m.Hints, m.Labels = false, f.times, hints(f.address), []string{"only-own"}
	})
	for _, label := range []string{"only-two", "only-three", "only-own", "only-one"} {
		storetest.Do(t, f.address, "UPDATE runs SET state='queued', settled=0, worker='', fence=0, claimed=0, started=0, outcome='', envelope=$2, needs=$3 WHERE id=$1", string(id), envelope, `["`+label+`"]`)
		if got := settled(t, f.admin, id); got.State != paddock.RefusedState || !strings.Contains(string(got.Outcome), "followed before") {
			t.Errorf("%s: %s at %s: %s", label, got.State, got.Worker, got.Outcome)
		}
	}
	if text, err := os.ReadFile(mark); err != nil || string(text) != "x\n" {
		t.Errorf("what ran: %q, %v", text, err)
	}
}

// Who owns the database gets nothing run that nobody asked for.
func TestTheOwnerOfTheDatabase(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	b, _, _ := f.worker("attacked", nil)
	mark := filepath.Join(b.work, "mark")
	other, err := sign.Create(filepath.Join(b.work, "other.key"))
	if err != nil {
		t.Fatal(err)
	}
	honest := func(at time.Time, lasts time.Duration, key *sign.Key) (paddock.RunID, order.Order, []byte) {
		id, err := paddock.NewRunID(time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := order.New(id, request(alice, "echo x >>"+mark), at, lasts, nil)
		if err != nil {
			t.Fatal(err)
		}
		envelope, err := o.Seal(key)
		if err != nil {
			t.Fatal(err)
		}
		return id, o, envelope
	}
	put := func(id paddock.RunID, o order.Order, envelope []byte) paddock.RunID {
		r := store.Run{ID: id, Owner: rows.Owner(alice), Principal: alice.ID, State: paddock.Queued, Envelope: envelope, Request: o.Digest, Created: store.At(time.Now())}
		if _, _, err := f.admin.Enqueue(t.Context(), r, o.Nonce+string(id)[20:]); err != nil {
			t.Fatal(err)
		}
		return id
	}
	refused := map[string]paddock.RunID{}
	id, o, envelope := honest(time.Now(), time.Hour, other)
	refused["signed by another key"] = put(id, o, envelope)
	id, o, envelope = honest(time.Now().Add(-2*time.Hour), time.Hour, f.door.key)
	refused["expired"] = put(id, o, envelope)
	id, o, envelope = honest(time.Now(), time.Hour, f.door.key)
	refused["another principal"] = put(id, o, altered(t, envelope, func(o *order.Order) { o.Request.Principal = bob; o.Digest = o.Request.Digest() }))
	id, o, envelope = honest(time.Now(), time.Hour, f.door.key)
	refused["other words"] = put(id, o, altered(t, envelope, func(o *order.Order) { o.Request.Command.Argv[2] = "true"; o.Digest = o.Request.Digest() }))
	id, o, envelope = honest(time.Now(), time.Hour, f.door.key)
	copied, _, _ := honest(time.Now(), time.Hour, f.door.key)
	refused["in another row"] = put(copied, o, envelope)
	refused["no envelope at all"] = put(id, o, []byte("{}"))
	for what, id := range refused {
		if r := settled(t, f.admin, id); r.State != paddock.RefusedState {
			t.Errorf("%s: %s, %s", what, r.State, r.Outcome)
		}
	}
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Fatal("something ran")
	}
	// What was asked for runs once, however often its row is put back.
	id, o, envelope = honest(time.Now(), time.Hour, f.door.key)
	put(id, o, envelope)
	if r := settled(t, f.admin, id); r.State != paddock.Exited {
		t.Fatalf("the honest one: %s, %s", r.State, r.Outcome)
	}
	storetest.Do(t, f.address, "UPDATE runs SET state='queued', settled=0, worker='', fence=0, claimed=0, started=0, outcome='', envelope=$2 WHERE id=$1", string(id), envelope)
	if r := settled(t, f.admin, id); r.State != paddock.RefusedState {
		t.Errorf("the replayed one: %s, %s", r.State, r.Outcome)
	}
	if text, err := os.ReadFile(mark); err != nil || string(text) != "x\n" {
		t.Errorf("what ran: %q, %v", text, err)
	}
}

// altered is an envelope with the same signature about something else.
func altered(t *testing.T, envelope []byte, change func(*order.Order)) []byte {
	t.Helper()
	var e map[string]any
	if err := json.Unmarshal(envelope, &e); err != nil {
		t.Fatal(err)
	}
	var payload []byte
	text, err := json.Marshal(e["payload"])
	if err == nil {
		err = json.Unmarshal(text, &payload)
	}
	var o order.Order
	if err == nil {
		err = json.Unmarshal(payload, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	change(&o)
	if payload, err = json.Marshal(o); err == nil {
		e["payload"] = payload
		text, err = json.Marshal(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Several servers and workers share the queue: each run is carried out once, by a worker
// that has what it needs, and its end reaches whoever waits at a server.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	second, _ := f.door.serve(database(t, f.address, postgres.Options{MostConnections: 4}), true, func(m *dispatch.Machine) {
		m.Alone, m.Times, m.Hints = false, f.times, hints(f.address)
	})
	f.worker("plain", nil)
	f.worker("shiny", func(m *dispatch.Machine) { m.Labels = []string{"gpu"} })
	ids := make([]paddock.RunID, 12)
	var all sync.WaitGroup
	for i := range ids {
		door := f.service
		if i%2 == 1 {
			door = second
		}
		all.Go(func() {
			at := dispatch.Placement{}
			if i%3 == 0 {
				at.Needs = []string{"gpu"}
			}
			run, err := door.StartPlaced(t.Context(), request(alice, "echo hello"), at)
			if err == nil {
				ids[i] = run.ID
				run, err = door.Wait(t.Context(), alice, run.ID, 2*time.Minute)
			}
			if err != nil || run.State != paddock.Exited {
				t.Errorf("run %d: %+v, %v", i, run, err)
			}
		})
	}
	all.Wait()
	for i, id := range ids {
		r := settled(t, f.admin, id)
		if r.State != paddock.Exited || r.StdoutBytes != 6 || i%3 == 0 && r.Worker != "shiny" {
			t.Errorf("run %d: %+v", i, r)
		}
	}
}

// counting counts the beats of a worker.
type counting struct {
	store.Queue
	beats atomic.Int64
}

func (c *counting) Renew(ctx context.Context, id store.WorkerID, epoch int64, t store.Term) (store.Worker, []store.Run, error) {
	c.beats.Add(1)
	return c.Queue.Renew(ctx, id, epoch, t)
}

// The end of a run on another machine is reached by a server that only queues, and nothing
// on the way waits for a time to pass: beats are hours apart, so the database's hint is what
// the worker hears. At best it takes less than a second.
func TestCancelElsewhere(t *testing.T) {
	t.Parallel()
	rare := lease.Times{Beat: 10 * time.Hour, Lease: 30 * time.Hour, DeadMan: 100 * time.Hour, Margin: time.Hour}
	f := newField(t, rare)
	b, listens := newBox(t), make(chan struct{})
	var once sync.Once
	m := b.worker(f.admin, "far", func(m *dispatch.Machine) {
		m.Keys, m.Times, m.Signers = []*sign.Public{&f.door.key.Public}, rare, f.asks("far")
		m.Hints = func(ctx context.Context, heard func(string)) error {
			return hints(f.theirs)(ctx, func(what string) {
				heard(what)
				once.Do(func() { close(listens) }) // the first is that it listens
			})
		}
	})
	q := &counting{Queue: database(t, f.theirs, postgres.Options{NoMigration: true, MostConnections: 4})}
	work(t, m, q)
	<-listens
	fastest := time.Hour
	for try := 0; try < 5 && fastest > time.Second; try++ { // a busy machine may be slow, and not each time
		run, err := f.service.Start(t.Context(), request(alice, "sleep 600"))
		if err != nil {
			t.Fatal(err)
		}
		row(t, f.admin, run.ID, func(r store.Run) bool { return r.State == paddock.Running })
		beats, begun := q.beats.Load(), time.Now()
		if _, err := f.service.Kill(t.Context(), alice, run.ID, app.KillRequest{Reason: "enough", NoWait: true}); err != nil {
			t.Error(err)
		}
		if r := settled(t, f.admin, run.ID); r.State != paddock.Killed || !strings.Contains(string(r.Outcome), `"why":"enough"`) {
			t.Errorf("%s, %s", r.State, r.Outcome)
		}
		fastest = min(fastest, time.Since(begun))
		if n := q.beats.Load() - beats; n != 0 {
			t.Errorf("it took %d beats", n)
		}
		if here, err := b.app.Status(t.Context(), boss, run.ID); err != nil || here.Outcome.Reason.By != alice.ID {
			t.Errorf("at the worker: %+v, %v", here, err)
		}
	}
	if fastest > time.Second {
		t.Errorf("it had ended %s later at best", fastest)
	}
}

// A worker that falls silent is noticed, its runs are lost only when its supervisors have
// ended them, and that they did is written down at the worker. How long a silence lasts is
// for the server's clock to say, which goes when the test says so; the supervisors' is real.
func TestASilentWorker(t *testing.T) {
	t.Parallel()
	f, passed := newSilence(t)
	b, _, stop := f.worker("silent", soonSilent)
	run, err := f.service.Start(t.Context(), request(alice, "sleep 600"))
	if err != nil {
		t.Fatal(err)
	}
	row(t, f.admin, run.ID, func(r store.Run) bool { return r.State == paddock.Running })
	stop()
	f.lost(b, run.ID, passed)
	if run, err = f.service.Wait(t.Context(), alice, run.ID, paddock.MaxWait); err != nil || run.State != paddock.Lost {
		t.Errorf("at the server: %+v, %v", run, err)
	}
}

// newSilence is a field whose server's clock goes when time is said to have passed.
func newSilence(t *testing.T) (f *field, passed *atomic.Int64) {
	t.Helper()
	passed = &atomic.Int64{}
	begun := time.Now()
	slow := lease.Times{Beat: 50 * time.Millisecond, Lease: time.Minute, DeadMan: 10_000 * time.Hour, Margin: time.Minute}
	return newFieldAt(t, slow, func() time.Time { return begun.Add(time.Duration(passed.Load())) }), passed
}

// soonSilent has the supervisors of a worker that falls silent end their runs soon.
func soonSilent(m *dispatch.Machine) {
	m.Times = lease.Times{Beat: 200 * time.Millisecond, Lease: 2 * time.Second, DeadMan: 10 * time.Second, Margin: 8 * time.Second}
}

// lost has a run of a worker that is silent called lost, after the end that it has there.
func (f *field) lost(b *box, id paddock.RunID, passed *atomic.Int64) {
	t := f.t
	t.Helper()
	row(t, f.admin, id, func(r store.Run) bool { // the last beat may be seen late, and counts from then
		passed.Add(int64(f.times.Lease))
		return r.State == paddock.Unreachable
	})
	var here paddock.Run
	var err error
	for range 10 { // a dead-man time, and then however long a busy machine takes
		if here, err = b.app.Wait(t.Context(), boss, id, paddock.MaxWait); err != nil || here.State.Settled() {
			break
		}
	}
	if err != nil || !here.State.Settled() || here.Outcome.Reason.Kind != paddock.ReasonLease || here.Outcome.Survivors != 0 {
		t.Fatalf("at the worker: %+v, %v", here.Outcome, err)
	}
	if r, err := f.admin.Run(t.Context(), store.Everyone(), id); err != nil || r.State != paddock.Unreachable {
		t.Errorf("before its time the row says %s, %v", r.State, err)
	}
	passed.Add(int64(2 * f.times.DeadMan))
	if r := settled(t, f.admin, id); r.State != paddock.Lost {
		t.Fatalf("the row says %s, %s", r.State, r.Outcome)
	}
}

// A worker's process that comes back in time has its runs again.
func TestAWorkerComesBack(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	b, m, stop := f.worker("back", nil)
	gate := filepath.Join(b.work, "gate")
	run, err := f.service.Start(t.Context(), request(alice, "until test -e "+gate+"; do sleep 0.1; done"))
	if err != nil {
		t.Fatal(err)
	}
	row(t, f.admin, run.ID, func(r store.Run) bool { return r.State == paddock.Running })
	stop()
	b.shut()
	b.open()
	m.Executor = b.exec
	work(t, m, database(t, f.theirs, postgres.Options{NoMigration: true, MostConnections: 4}))
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := settled(t, f.admin, run.ID); r.State != paddock.Exited {
		t.Errorf("the row says %s, %s", r.State, r.Outcome)
	}
}

// A worker that is cordoned gets nothing, and one that drains ends when it has nothing.
func TestCordonAndDrain(t *testing.T) {
	t.Parallel()
	f := newField(t, calm)
	f.worker("cordoned", nil)
	if err := f.admin.SetWorkerMode(t.Context(), "cordoned", store.Cordoned); err != nil {
		t.Fatal(err)
	}
	b := newBox(t)
	m := b.worker(f.admin, "drained", func(m *dispatch.Machine) {
		m.Signers = f.asks("drained")
		m.Keys, m.Times, m.Hints = []*sign.Public{&f.door.key.Public}, f.times, hints(f.theirs)
	})
	q := database(t, f.theirs, postgres.Options{NoMigration: true, MostConnections: 4})
	over := make(chan error, 1)
	go func() { over <- m.Work(t.Context(), q) }()
	run, err := f.service.Start(t.Context(), request(alice, "sleep 0.5"))
	if err != nil {
		t.Fatal(err)
	}
	r := row(t, f.admin, run.ID, func(r store.Run) bool { return r.State != paddock.Queued })
	if r.Worker != "drained" {
		t.Errorf("the run is at %s", r.Worker)
	}
	if err := f.admin.SetWorkerMode(t.Context(), "drained", store.Draining); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	if r := settled(t, f.admin, run.ID); r.State != paddock.Exited {
		t.Errorf("it was left as %s", r.State)
	}
}
