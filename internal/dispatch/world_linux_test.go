package dispatch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/dispatch"
	"paddock/internal/executor"
	"paddock/internal/journal/sign"
	"paddock/internal/lease"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/store/tables/sqlite"
	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

var (
	alice = paddock.Principal{Kind: paddock.User, ID: "user:alice"}
	bob   = paddock.Principal{Kind: paddock.User, ID: "user:bob"}
	boss  = paddock.Principal{Kind: paddock.Operator, ID: "user:boss"}
)

// A box is a machine with a state directory, a policy that allows sh, and a place to work.
type box struct {
	t     *testing.T
	work  string
	state string
	exec  *executor.Executor
	app   *app.App
	key   *sign.Key
	shut  func()
}

func newBox(t *testing.T) *box {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, work: filepath.Join(dir, "work"), state: filepath.Join(dir, "state")}
	if err := os.Mkdir(b.work, 0o700); err != nil {
		t.Fatal(err)
	}
	b.open()
	if b.key, err = sign.Create(filepath.Join(dir, "key")); err != nil {
		t.Fatal(err)
	}
	return b
}

// open opens the state directory, as a process does.
func (b *box) open() {
	b.t.Helper()
	text := strings.ReplaceAll("version: 1\nroots: [{path: DIR}]\nexecutables: [{name: sh, path: /bin/sh, args: any}]\ncontainment: {require: off}\n", "DIR", b.work)
	var err error
	b.exec, err = executor.Open(b.t.Context(), executor.Config{Grace: time.Minute, State: b.state, Policy: executor.PolicyText("policy.yaml", []byte(text)), Stage: testproc.Build(b.t, "paddock/cmd/paddock-stage")})
	if err != nil {
		b.t.Fatal(err)
	}
	b.app = app.New(b.exec)
	b.shut = sync.OnceFunc(func() {
		if err := b.app.Close(); err != nil {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(b.shut)
}

// write makes an empty file in the working directory.
func (b *box) write(name string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.work, name), nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// machine is the box as a worker.
func (b *box) machine(change func(*dispatch.Machine)) dispatch.Machine {
	m := dispatch.Machine{Executor: b.exec, Alone: true, Now: time.Now, Warn: func(err error) {
		if !strings.Contains(err.Error(), "closed") {
			b.t.Log("warning: ", err)
		}
	}}
	if change != nil {
		change(&m)
	}
	return m
}

// serve begins a service over s.
func (b *box) serve(s dispatch.Store, idle bool, change func(*dispatch.Machine)) (v *dispatch.Service, stop func()) {
	b.t.Helper()
	v, err := dispatch.Open(b.t.Context(), b.app, s, b.key, b.machine(change), idle, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	stop = sync.OnceFunc(v.Close)
	b.t.Cleanup(stop)
	return v, stop
}

func file(t *testing.T) *tables.Tables {
	t.Helper()
	return kept(t)(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db", "server.db")))
}

func database(t *testing.T, address string, o postgres.Options) *tables.Tables {
	t.Helper()
	return kept(t)(postgres.Open(t.Context(), address, o))
}

func kept(t *testing.T) func(*tables.Tables, error) *tables.Tables {
	return func(s *tables.Tables, err error) *tables.Tables {
		t.Helper()
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
}

func request(p paddock.Principal, script string) paddock.Request {
	return paddock.Request{Principal: p, Door: paddock.DoorHTTP, Command: paddock.Command{Argv: []string{"sh", "-c", script}}}
}

// settled waits until the row of a run is settled.
func settled(t *testing.T, s store.Runs, id paddock.RunID) store.Run {
	t.Helper()
	return row(t, s, id, func(r store.Run) bool { return r.State.Settled() })
}

// row waits until a row is as it should be.
func row(t *testing.T, s store.Runs, id paddock.RunID, good func(store.Run) bool) store.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // if it never happens
	defer cancel()
	for {
		r, err := s.Run(ctx, store.Everyone(), id)
		if err != nil {
			t.Fatal(err)
		}
		if good(r) {
			return r
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("run %s stays %s", id, r.State)
		}
	}
}

// worker adds a worker and returns what carries it out: with its own database user.
func (b *box) worker(admin *tables.Tables, id store.WorkerID, change func(*dispatch.Machine)) dispatch.Machine {
	b.t.Helper()
	w := store.Worker{ID: id, Name: string(id), Credential: storetest.Secret(), Mode: store.Open, Created: store.At(time.Now())}
	if err := admin.AddWorker(b.t.Context(), w); err != nil {
		b.t.Fatal(err)
	}
	m := b.machine(change)
	m.ID, m.Alone = id, false
	return m
}

// work lets a machine work until stop.
func work(t *testing.T, m dispatch.Machine, q store.Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var over sync.WaitGroup
	over.Go(func() {
		if err := m.Work(ctx, q); err != nil && ctx.Err() == nil {
			t.Errorf("worker %s: %v", m.ID, err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); over.Wait() })
	t.Cleanup(stop)
	return stop
}

// calm are times that no busy machine misses.
var calm = lease.Times{Beat: 100 * time.Millisecond, Lease: time.Minute, DeadMan: 3 * time.Minute, Margin: time.Minute}

// hints are those of the database at an address.
func hints(address string) func(context.Context, func(string)) error {
	return func(ctx context.Context, heard func(string)) error {
		return postgres.Listen(ctx, address, postgres.Options{}, heard)
	}
}
