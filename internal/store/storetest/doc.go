// Package storetest says what a store does, as tests: [Conform] runs them all on a
// backend. [Database] makes an empty PostgreSQL database for one test.
//
// # Limits
//
// Only tests may import it. How a backend opens and refuses a database is tested
// beside it.
package storetest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/testproc/cluster"
)

// Database makes a database of its own for the test, and a user who owns it and is
// no more than that, and returns his address.
func Database(t testing.TB) string {
	t.Helper()
	boss := cluster.Address(t)
	conn, err := pgx.Connect(t.Context(), boss)
	if err != nil {
		t.Fatal(err)
	}
	name, password := "t"+strings.ToLower(rand.Text()), rand.Text()
	for _, statement := range []string{
		"CREATE ROLE " + pgx.Identifier{name}.Sanitize() + " LOGIN PASSWORD '" + password + "'",
		"CREATE DATABASE " + pgx.Identifier{name}.Sanitize() + " OWNER " + pgx.Identifier{name}.Sanitize(),
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(boss)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword(name, password), "/"+name
	return u.String()
}

// Do does something to a database that no store does.
func Do(t testing.TB, address, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Noon is when most tests happen.
var Noon = store.At(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))

// must returns v.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// NewID makes an id.
func NewID[T ~string](t testing.TB, kind byte) T {
	t.Helper()
	return must(store.NewID[T](kind, time.Now(), nil))(t)
}

// Secret makes a hash that no other has.
func Secret() (h store.Hash) {
	copy(h[:], rand.Text()+rand.Text())
	return h
}

// NewUser keeps a user.
func NewUser(t testing.TB, s store.Store, r store.Role) store.User {
	t.Helper()
	u := store.User{ID: NewID[store.UserID](t, 'u'), Role: r, Created: Noon, Changed: Noon, Revision: 1}
	u.Name = "name-" + string(u.ID)
	if err := s.AddUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

// NewRun makes a run that can be queued.
func NewRun(t testing.TB, owner store.UserID, created store.Moment) store.Run {
	t.Helper()
	id := must(paddock.NewRunID(created.Time, nil))(t)
	return store.Run{ID: id, Owner: owner, Principal: "session", State: paddock.Queued, Label: "true", Envelope: store.Blob("signed"), Request: "sha256:1", Created: created}
}

// Enqueue keeps a run.
func Enqueue(t testing.TB, s store.Store, r store.Run) store.Run {
	t.Helper()
	kept, again, err := s.Enqueue(t.Context(), r, rand.Text())
	if err != nil || again {
		t.Fatal(again, err)
	}
	return kept
}

// NewWorker keeps a worker and begins its first epoch.
func NewWorker(t testing.TB, s store.Store, labels ...string) store.Worker {
	t.Helper()
	w := store.Worker{ID: NewID[store.WorkerID](t, 'k'), Credential: Secret(), Mode: store.Open, Created: Noon}
	w.Name = "machine-" + string(w.ID)
	if err := s.AddWorker(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return must(s.Enlist(t.Context(), w.ID, labels, 10, "v1", Noon))(t)
}

// Term is one of ten seconds.
func Term(now store.Moment) store.Term {
	return store.Term{Now: now, Until: now.After(10 * time.Second), LostAfter: now.After(time.Minute)}
}

// Take claims exactly these runs.
func Take(t testing.TB, s store.Store, w store.Worker, ids ...paddock.RunID) []store.Run {
	t.Helper()
	return must(s.Claim(t.Context(), w.ID, w.Epoch, Term(Noon), func(context.Context, store.Line) ([]paddock.RunID, error) { return ids, nil }))(t)
}

// Holding is what w needs to write about r.
func Holding(w store.Worker, r store.Run) store.Held {
	return store.Held{Run: r.ID, Worker: w.ID, Epoch: w.Epoch, Fence: r.Fence}
}

// Verdict is an end.
func Verdict(s paddock.State) store.Verdict {
	return store.Verdict{State: s, Outcome: store.Blob(`{"state":"` + s + `"}`), At: Noon.After(time.Hour)}
}

// Memory returns a directory that t removes, in memory where there is such a place:
// thousands of transactions needn't wait for a disk.
func Memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "paddock-store-") //nolint:usetesting // t has none in memory
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
