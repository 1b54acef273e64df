//go:build linux

package sqlite_test

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock"
	"paddock/internal/store"
	"paddock/internal/store/storetest"
)

// However many runs are in it, a page of their list and one of them are found by an
// index: a million with PADDOCK_LONG, whose times are printed.
func TestManyRows(t *testing.T) {
	n := 2000
	if os.Getenv("PADDOCK_LONG") != "" {
		n = 1_000_000
	}
	path := place(t)
	s := open(t, path)
	u, w := storetest.NewUser(t, s, store.Operator), storetest.NewWorker(t, s)
	model := storetest.NewRun(t, u.ID, storetest.Noon)
	model.Key = ""
	model = storetest.Enqueue(t, s, model)
	h := storetest.Holding(w, storetest.Take(t, s, w, model.ID)[0])
	if err := s.Settle(t.Context(), h, store.Heads{}, storetest.Verdict("exited")); err != nil {
		t.Fatal(err)
	}
	multiply(t, path, model.ID, n)
	at := func(i int) store.Cursor {
		return store.Cursor{Created: store.At(storetest.Noon.Add(-time.Duration(i) * time.Second)), ID: "r"}
	}
	for what, ask := range map[string]func(i int) error{
		"the newest 50": func(int) error {
			p, err := s.Runs(t.Context(), store.Everyone(), store.RunFilter{}, store.Cursor{}, 50)
			if err == nil && (len(p.Items) != 50 || !p.More || p.Items[0].ID != model.ID) {
				t.Errorf("%d runs, more: %v", len(p.Items), p.More)
			}
			return err
		},
		"50 of an owner's from anywhere on": func(i int) error {
			_, err := s.Runs(t.Context(), store.Of(u.ID), store.RunFilter{}, at(i), 50)
			return err
		},
		"50 that exited from anywhere on": func(i int) error {
			_, err := s.Runs(t.Context(), store.Everyone(), store.RunFilter{State: paddock.Exited}, at(i), 50)
			return err
		},
		"one": func(i int) error {
			_, err := s.Run(t.Context(), store.Of(u.ID), numbered(i))
			return err
		},
		"how many are live": func(int) error { _, err := s.CountRuns(t.Context()); return err },
	} {
		var took []time.Duration
		for range 300 {
			i := 1 + rand.IntN(n)
			begun := time.Now()
			if err := ask(i); err != nil {
				t.Fatal(what, err)
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		t.Logf("of %d runs, %s: p50 %s, p99 %s", n, what, took[150], took[297])
	}
}

// numbered is the id of a copy.
func numbered(i int) paddock.RunID {
	digits := []byte("r00000000000000000000000000")
	for at := len(digits) - 1; i > 0; at-- {
		digits[at] = byte('0' + i%10)
		i /= 10
	}
	return paddock.RunID(digits)
}

// multiply makes n copies of a run, each a second older than the one before.
func multiply(t *testing.T, path string, id paddock.RunID, n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var columns string
	err = db.QueryRowContext(t.Context(), "SELECT group_concat(name, ', ') FROM pragma_table_info('runs')").Scan(&columns)
	if err == nil {
		values := strings.NewReplacer("id, ", "printf('r%026d', x), ", " created,", " created - x * 1000000,").Replace(columns)
		_, err = db.ExecContext(t.Context(), "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?) INSERT INTO runs ("+columns+") SELECT "+values+" FROM runs, n WHERE id = ?", n, string(id))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
