//go:build linux

package lease_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/lease/order"
	"paddock/internal/lease/order/warrant"
	"paddock/internal/lease/watch"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) {
	// Each check is hundreds of transactions, and there are two databases.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	testproc.Main(m, nil)
}

// onBoth runs a test on a store in each of the databases.
func onBoth(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), filepath.Join(storetest.Memory(t), "db", "paddock.db"))
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		s, err := postgres.Open(t.Context(), storetest.Database(t), postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// times are short, so that little has to happen until a run is lost.
var times = lease.Times{Beat: time.Second, Lease: 3 * time.Second, DeadMan: 6 * time.Second, Margin: 2 * time.Second}

// A world is a front door, machines and a watch, with a clock that stands still
// until it is told to go on.
type world struct {
	t        testing.TB
	errorf   func(format string, args ...any)
	store    store.Store
	ticking  sync.Mutex // between machines and what they do beside
	now      time.Time
	key      *sign.Key
	user     store.User
	watch    *watch.Watch
	machines []*machine
	runs     []paddock.RunID
	starts   map[paddock.RunID]int
	settled  map[paddock.RunID]store.Run
	fuse     *fuse
	signer   *warrant.Giver // of the front door
}

// A fuse ends the process that reaches the point at which it has burnt down.
type fuse struct{ left, reached int }

type crashed struct{}

func (f *fuse) point() {
	f.reached++
	if f.left--; f.left == 0 {
		panic(crashed{})
	}
}

func newWorld(t testing.TB, s store.Store, key *sign.Key) *world {
	t.Helper()
	w := &world{t: t, errorf: t.Errorf, store: s, now: storetest.Noon.Time, key: key, user: storetest.NewUser(t, s, store.Operator),
		starts: map[paddock.RunID]int{}, settled: map[paddock.RunID]store.Run{}, fuse: &fuse{}}
	nonces, err := order.NoncesIn(storetest.Memory(t))
	if err != nil {
		t.Fatal(err)
	}
	w.signer = &warrant.Giver{Key: key, Nonces: nonces, Now: func() time.Time { return w.now }}
	if w.watch, err = watch.New(s, times); err != nil {
		t.Fatal(err)
	}
	return w
}

func newKey(t testing.TB) *sign.Key {
	t.Helper()
	k, err := sign.Create(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ask queues a run.
func (w *world) ask(change ...func(*store.Run)) paddock.RunID {
	w.t.Helper()
	r, nonce := w.order(change...)
	if _, _, err := w.store.Enqueue(w.t.Context(), r, nonce); err != nil {
		w.t.Fatal(err)
	}
	w.runs = append(w.runs, r.ID)
	return r.ID
}

// order is the row of a run that somebody asked for, and its nonce.
func (w *world) order(change ...func(*store.Run)) (store.Run, string) {
	w.t.Helper()
	r := storetest.NewRun(w.t, w.user.ID, store.At(w.now))
	o, err := order.New(r.ID, paddock.Request{Command: paddock.Command{Argv: []string{"true"}}}, w.now, time.Hour, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Envelope, err = o.Seal(w.key); err != nil {
		w.t.Fatal(err)
	}
	for _, do := range change {
		do(&r)
	}
	return r, o.Nonce
}

func (w *world) row(id paddock.RunID) store.Run {
	w.t.Helper()
	r, err := w.store.Run(w.t.Context(), store.Everyone(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// cancel asks for the end of a run.
func (w *world) cancel(id paddock.RunID) {
	w.t.Helper()
	v := storetest.Verdict(paddock.Killed)
	if _, err := w.store.Cancel(w.t.Context(), store.Of(w.user.ID), id, "me", "enough", v); err != nil {
		w.t.Fatal(err)
	}
}

// pass lets time pass: supervisors whose time is over end their runs.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, m := range w.machines {
		for _, p := range m.here {
			if p.live() && !m.clock().Before(p.until) {
				p.finish(paddock.Killed, m.clock())
			}
		}
	}
}

// look has the watch look, and sees that nothing goes on of what it says is lost.
func (w *world) look() {
	w.t.Helper()
	lost, err := w.watch.Look(w.t.Context(), w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, id := range lost {
		for _, m := range w.machines {
			if p := m.here[id]; p != nil && p.live() {
				w.errorf("%s is lost and goes on at %s", id, m.name)
			}
		}
	}
}

// check looks at what must always hold.
func (w *world) check() {
	w.t.Helper()
	for _, id := range w.runs {
		r := w.row(id)
		if n := w.starts[id]; n > 1 {
			w.errorf("%s was started %d times", id, n)
		} else if n == 1 && (r.State == paddock.Queued || r.State == paddock.Waiting || r.State == paddock.FailedToStart || r.State == paddock.RefusedState) {
			w.errorf("%s was started and is %s", id, r.State)
		}
		if was, ok := w.settled[id]; ok && (was.State != r.State || string(was.Outcome) != string(r.Outcome)) {
			w.errorf("%s was %s and became %s", id, was.State, r.State)
		}
		if r.State.Settled() {
			w.settled[id] = r
		}
		for _, m := range w.machines {
			if p := m.here[id]; p != nil && p.live() && r.State.Settled() && r.State != paddock.Lost {
				w.errorf("%s is %s and goes on at %s", id, r.State, m.name)
			}
		}
		if r.State == paddock.Exited && w.starts[id] != 1 {
			w.errorf("%s ended and never began", id)
		}
	}
}

// over reports whether all runs are settled.
func (w *world) over() bool {
	w.check()
	return len(w.settled) == len(w.runs)
}

// A machine has a disk, and perhaps a worker's process.
type machine struct {
	name   string
	world  *world
	config lease.Config
	skew   time.Duration
	worker *lease.Worker
	asker  string        // the word of its process
	offers bool          // and is the front door's own
	away   bool          // the front door is, as it sees it
	cut    bool          // off from the database
	slow   time.Duration // what an answer of the database takes
	frail  bool          // the fuse burns here
	here   map[paddock.RunID]*proc
}

// A proc is a run's directory with its supervisor.
type proc struct {
	started time.Time
	until   time.Time
	heads   store.Heads
	end     *store.Verdict
}

func (p *proc) live() bool { return !p.started.IsZero() && p.end == nil }

func (p *proc) finish(s paddock.State, now time.Time) {
	v := storetest.Verdict(s)
	v.At = store.At(now)
	p.end = &v
}

func (w *world) machine(capacity int64, skew time.Duration, labels ...string) *machine {
	w.t.Helper()
	nonces, err := order.NoncesIn(storetest.Memory(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	v := storetest.NewWorker(w.t, w.store)
	m := &machine{name: v.Name, world: w, skew: skew, asker: warrant.NewAsker(), here: map[paddock.RunID]*proc{}}
	m.config = lease.Config{ID: v.ID, Labels: labels, Capacity: capacity, Queue: &wire{w.store, m}, Offers: &wire{w.store, m}, Hands: m, Keys: []*sign.Public{&w.key.Public}, Nonces: nonces, Signers: m, Times: times, Clock: m.clock}
	w.machines = append(w.machines, m)
	return m
}

func (m *machine) clock() time.Time {
	m.world.ticking.Lock()
	defer m.world.ticking.Unlock()
	return m.world.now.Add(m.skew)
}

func (m *machine) point() {
	if m.frail {
		m.world.fuse.point()
	}
}

var errCut = errors.New("cut off")

// step is one step of the worker's process, which is begun if there is none.
func (m *machine) step() {
	t := m.world.t
	t.Helper()
	defer func() {
		if what := recover(); what != nil {
			if _, ok := what.(crashed); !ok {
				panic(what)
			}
			m.crash()
		}
	}()
	var err error
	if m.worker == nil {
		m.worker, err = lease.Begin(t.Context(), m.config)
	} else {
		_, _, err = m.worker.Step(t.Context())
	}
	if err != nil && !errors.Is(err, errCut) && !errors.Is(err, lease.ErrUnreached) {
		t.Fatal(m.name, err)
	}
}

// offer has the worker's process queue a run by itself. It counts as asked for if its row
// is there, whatever became of the process.
func (m *machine) offer() {
	w, t := m.world, m.world.t
	t.Helper()
	if m.worker == nil {
		return
	}
	r, nonce := w.order()
	defer func() {
		what := recover()
		if _, ok := what.(crashed); what != nil && !ok {
			panic(what)
		}
		if what != nil {
			m.crash()
		}
		switch _, err := w.store.Run(t.Context(), store.Everyone(), r.ID); {
		case err == nil:
			w.runs = append(w.runs, r.ID)
		case !errors.Is(err, store.ErrNotFound):
			t.Fatal(err)
		case w.starts[r.ID] > 0:
			w.errorf("%s was started and isn't in the queue", r.ID)
		}
	}()
	worker := m.worker
	m.offers = true
	defer func() {
		worker.Rest()
		m.offers = false
	}()
	if _, _, _, _, err := worker.Offer(t.Context(), r, nonce); err != nil && !errors.Is(err, errCut) {
		t.Fatal(m.name, err)
	}
}

// crash ends the process. What it had claimed on the disk and not started, the next
// one finds so.
func (m *machine) crash() {
	m.worker, m.asker = nil, warrant.NewAsker()
	for _, p := range m.here {
		if p.started.IsZero() && p.end == nil {
			p.finish(paddock.FailedToStart, m.clock())
		}
	}
}

// Reaches implements lease.Signers.
func (m *machine) Reaches(*sign.Public) bool { return !m.away }

// First asks the front door; before and after that its process can end.
func (m *machine) First(_ context.Context, o order.Order, envelope []byte, by *sign.Public) error {
	if m.offers { // beside its own transaction, where it can't end
		return m.world.signer.Nonces.Use(o)
	}
	m.point()
	if m.away {
		return errCut
	}
	text, err := m.world.signer.Give(envelope, o.Run, string(m.config.ID), m.asker)
	m.point()
	if err != nil {
		return err
	}
	return warrant.Check(text, o, by, string(m.config.ID), m.asker)
}

func (m *machine) Launch(_ context.Context, o order.Order, until time.Time) error {
	m.point()
	if m.here[o.Run] != nil {
		return fmt.Errorf("%s is here already", o.Run)
	}
	if o.Request.Command.Argv[0] != "true" {
		return paddock.Refused(paddock.ExecutableNotAllowed, "this isn't allowed here")
	}
	p := &proc{until: until}
	m.here[o.Run] = p
	m.point()
	p.started = m.clock()
	m.world.starts[o.Run]++
	m.point()
	return nil
}

func (m *machine) Look(_ context.Context, id paddock.RunID) (lease.Found, error) {
	p := m.here[id]
	if p == nil {
		return lease.Found{}, nil
	}
	return lease.Found{Here: true, Started: p.started, Heads: p.heads, End: p.end}, nil
}

func (m *machine) Live(context.Context) (ids []paddock.RunID, err error) {
	for id, p := range m.here {
		if p.live() {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (m *machine) Extend(_ context.Context, id paddock.RunID, until time.Time) error {
	m.point()
	if p := m.here[id]; p != nil && p.live() && until.After(p.until) {
		p.until = until
	}
	return nil
}

func (m *machine) Kill(_ context.Context, id paddock.RunID, _, _ string) error {
	m.point()
	if p := m.here[id]; p != nil && p.live() {
		p.finish(paddock.Killed, m.clock())
	}
	return nil
}

// A wire is a machine's way to the database: before and after each write, and within
// a claim, its process can end, and it can be cut.
type wire struct {
	store.Store
	m *machine
}

func (w *wire) over(do func() error) error {
	if w.m.cut {
		return errCut
	}
	w.m.point()
	err := do()
	w.m.world.ticking.Lock()
	w.m.world.now = w.m.world.now.Add(w.m.slow)
	w.m.world.ticking.Unlock()
	w.m.point()
	return err
}

func (w *wire) Enlist(ctx context.Context, id store.WorkerID, labels store.Words, capacity int64, version string, now store.Moment) (v store.Worker, err error) {
	err = w.over(func() error { v, err = w.Store.Enlist(ctx, id, labels, capacity, version, now); return err })
	return v, err
}

func (w *wire) Claim(ctx context.Context, id store.WorkerID, epoch int64, t store.Term, pick func(context.Context, store.Line) ([]paddock.RunID, error)) (runs []store.Run, err error) {
	err = w.over(func() error {
		runs, err = w.Store.Claim(ctx, id, epoch, t, func(ctx context.Context, l store.Line) ([]paddock.RunID, error) {
			ids, err := pick(ctx, l)
			w.m.point()
			return ids, err
		})
		return err
	})
	return runs, err
}

func (w *wire) Offer(ctx context.Context, r store.Run, nonce string, id store.WorkerID, epoch int64, t store.Term, pick func(context.Context, store.Line) ([]paddock.RunID, error), chosen func([]store.Run) error) (kept store.Run, again bool, got []store.Run, err error) {
	err = w.over(func() error {
		kept, again, got, err = w.Store.Offer(ctx, r, nonce, id, epoch, t, pick, func(runs []store.Run) error {
			w.m.point()
			err := chosen(runs)
			w.m.point()
			return err
		})
		return err
	})
	return kept, again, got, err
}

func (w *wire) Renew(ctx context.Context, id store.WorkerID, epoch int64, t store.Term) (v store.Worker, runs []store.Run, err error) {
	err = w.over(func() error { v, runs, err = w.Store.Renew(ctx, id, epoch, t); return err })
	return v, runs, err
}

func (w *wire) Start(ctx context.Context, h store.Held, now store.Moment) error {
	return w.over(func() error { return w.Store.Start(ctx, h, now) })
}

func (w *wire) Advance(ctx context.Context, h store.Held, heads store.Heads) error {
	return w.over(func() error { return w.Store.Advance(ctx, h, heads) })
}

func (w *wire) Settle(ctx context.Context, h store.Held, heads store.Heads, v store.Verdict) error {
	return w.over(func() error { return w.Store.Settle(ctx, h, heads, v) })
}

func openPostgres(t testing.TB, address string) store.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
