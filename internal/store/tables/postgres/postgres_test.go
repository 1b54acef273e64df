package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/testproc"
	"paddock/internal/testproc/cluster"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func open(t testing.TB, address string) store.Store {
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

func TestConforms(t *testing.T) {
	storetest.Conform(t, func(t testing.TB) store.Store { return open(t, storetest.Database(t)) })
}

// TestManyOpenAtOnce opens a new database by several at once: one makes the tables.
func TestManyOpenAtOnce(t *testing.T) {
	address := storetest.Database(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := postgres.Open(t.Context(), address, postgres.Options{MostConnections: 2})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// with returns the address of another user.
func with(t *testing.T, address, user, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

func do(t *testing.T, address string, statements ...string) {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(s, err)
		}
	}
}

func TestSuperuserIsRefused(t *testing.T) {
	boss := cluster.Address(t)
	if _, err := postgres.Open(t.Context(), boss, postgres.Options{}); !errors.Is(err, store.ErrOpen) || !strings.Contains(err.Error(), "superuser") {
		t.Error(err)
	}
	s, err := postgres.Open(t.Context(), boss, postgres.Options{Superuser: true, NoMigration: true})
	if err != nil {
		t.Fatal("although it was said:", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoPasswordIsRefused(t *testing.T) {
	address := cluster.Trusting(t)
	if _, err := postgres.Open(t.Context(), address, postgres.Options{Superuser: true}); !errors.Is(err, store.ErrOpen) || !strings.Contains(err.Error(), "wrong password") {
		t.Error(err)
	}
	s, err := postgres.Open(t.Context(), address, postgres.Options{Superuser: true, AnyPassword: true})
	if err != nil {
		t.Fatal("although it was said:", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Of several machines each is asked for, and one that isn't there keeps nobody from another.
func TestEachMachineIsLookedAt(t *testing.T) {
	closed, open := cluster.Address(t), cluster.Trusting(t)
	at := func(address string, first bool, more string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		hosts := []string{q.Get("host"), more}
		if !first {
			slices.Reverse(hosts)
		}
		q.Set("host", strings.Join(hosts, ","))
		u.RawQuery = q.Encode()
		return u.String()
	}
	dir := func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query().Get("host")
	}
	for _, first := range []bool{true, false} {
		_, err := postgres.Open(t.Context(), at(closed, first, dir(open)), postgres.Options{Superuser: true, NoMigration: true})
		if !errors.Is(err, store.ErrOpen) || !strings.Contains(err.Error(), dir(open)+" let boss in with a wrong password") {
			t.Errorf("first: %t: %v", first, err)
		}
		s, err := postgres.Open(t.Context(), at(closed, first, "/nowhere"), postgres.Options{Superuser: true, NoMigration: true})
		if err != nil {
			t.Fatalf("with one that isn't there, first: %t: %v", !first, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWrongPasswordAndNobodyThere(t *testing.T) {
	address := storetest.Database(t)
	for what, at := range map[string]string{
		"a wrong password": with(t, address, "boss", "guessed"),
		"nobody there":     "postgres://paddock:secret-word@/x?host=%2Fnowhere",
	} {
		_, err := postgres.Open(t.Context(), at, postgres.Options{})
		if err == nil || errors.Is(err, store.ErrOpen) {
			t.Errorf("%s: %v", what, err)
		} else if strings.Contains(err.Error(), "secret-word") || strings.Contains(err.Error(), "guessed") {
			t.Errorf("%s: the password is in the error: %v", what, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]error{
		"nonsense://":     store.ErrInvalid,
		"postgres://\x00": store.ErrInvalid,
		"postgres://u:p@db.example/x?sslmode=disable": store.ErrOpen,
		"postgres://u:p@db.example/x?sslmode=prefer":  store.ErrOpen,
		"postgres://u:p@db.example/x?sslmode=require": store.ErrOpen,
		"postgres://u:p@192.0.2.1/x?sslmode=disable":  store.ErrOpen,
		// One that begins with this machine.
		"postgres://u:p@127.0.0.1:1,db.example:1/x?sslmode=disable":  store.ErrOpen,
		"postgres://u:p@localhost:1,192.0.2.1:1/x?sslmode=prefer":    store.ErrOpen,
		"postgres://u:p@localhost:1,db.example:1/x?sslmode=require":  store.ErrOpen,
		"postgres://u:p@db.example:1,localhost:1/x?sslmode=disable":  store.ErrOpen,
		"host=/nowhere,db.example user=u password=p sslmode=disable": store.ErrOpen,
		"postgres://u:p@127.0.0.1:1,localhost:1/x?sslmode=disable":   store.ErrAway,
	} {
		if _, err := postgres.Open(t.Context(), address, postgres.Options{}); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", address, err, want)
		} else if err := postgres.Listen(t.Context(), address, postgres.Options{}, func(string) {}); !errors.Is(err, want) {
			t.Errorf("%q, for hints: got %v, want %v", address, err, want)
		}
	}
}

func TestNewerIsRefused(t *testing.T) {
	address := storetest.Database(t)
	open(t, address)
	do(t, address, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
	if _, err := postgres.Open(t.Context(), address, postgres.Options{}); !errors.Is(err, store.ErrNewer) {
		t.Error("opened a newer one:", err)
	}
}

// TestRoleOfWorkers has a worker's user, with the rights of docs/store.md, do a
// worker's work, and nothing else.
func TestRoleOfWorkers(t *testing.T) {
	ctx := t.Context()
	address := storetest.Database(t)
	front := open(t, address)
	role := "w" + strings.TrimPrefix(must(url.Parse(address)).User.Username(), "t")
	do(t, cluster.Address(t), "CREATE ROLE "+role+" LOGIN PASSWORD 'work'")
	for _, s := range postgres.WorkerRights {
		do(t, address, strings.ReplaceAll(s, "ROLE", role))
	}
	s, err := postgres.Open(ctx, with(t, address, role, "work"), postgres.Options{NoMigration: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	u, w := storetest.NewUser(t, front, store.Operator), storetest.NewWorker(t, front)
	r := storetest.Enqueue(t, front, storetest.NewRun(t, u.ID, storetest.Noon))
	w, err = s.Enlist(ctx, w.ID, nil, 1, "", storetest.Noon)
	if err != nil {
		t.Fatal(err)
	}
	h := storetest.Holding(w, storetest.Take(t, s, w, r.ID)[0])
	if _, _, err := s.Renew(ctx, w.ID, w.Epoch, storetest.Term(storetest.Noon)); err != nil {
		t.Error(err)
	}
	for _, err := range []error{s.Start(ctx, h, storetest.Noon), s.Advance(ctx, h, store.Heads{}), s.Settle(ctx, h, store.Heads{}, storetest.Verdict("exited"))} {
		if err != nil {
			t.Error(err)
		}
	}
	for what, try := range map[string]func(context.Context) error{
		"users": func(ctx context.Context) error { _, err := s.User(ctx, u.ID); return err },
		"sessions": func(ctx context.Context) error {
			_, _, err := s.Session(ctx, storetest.Secret(), storetest.Noon)
			return err
		},
		"tokens": func(ctx context.Context) error {
			_, _, err := s.Token(ctx, storetest.Secret(), storetest.Noon)
			return err
		},
		"links": func(ctx context.Context) error {
			_, _, err := s.UseLink(ctx, storetest.Secret(), storetest.Noon)
			return err
		},
		"making users": func(ctx context.Context) error {
			return s.AddUser(ctx, store.User{ID: "u1", Name: "n", Role: store.Admin, Created: storetest.Noon})
		},
		"making runs": func(ctx context.Context) error {
			_, _, err := s.Enqueue(ctx, storetest.NewRun(t, u.ID, storetest.Noon), "0123456789abcdef")
			return err
		},
		"making workers": func(ctx context.Context) error {
			return s.AddWorker(ctx, store.Worker{ID: "k1", Name: "n", Credential: storetest.Secret(), Mode: store.Open, Created: storetest.Noon})
		},
		"votes": func(ctx context.Context) error {
			return s.AddVote(ctx, store.Vote{Approval: "a1", Key: "k", Envelope: store.Blob("x"), Created: storetest.Noon})
		},
		"copies": func(ctx context.Context) error { _, err := s.Copies(ctx, []paddock.RunID{r.ID}); return err },
		"making copies": func(ctx context.Context) error {
			return s.PutCopies(ctx, []store.Copy{{Run: r.ID, Stamp: 1, Record: store.Blob("{}")}})
		},
		"pruning":          func(ctx context.Context) error { return s.PrunedRun(ctx, r.ID, storetest.Noon) },
		"a run's envelope": func(ctx context.Context) error { _, err := s.Admit(ctx, r.ID, []byte("x")); return err },
	} {
		if err := try(ctx); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("a worker and %s: %v", what, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
