package prepared

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite"

	"paddock/internal/testproc"
)

func TestMain(m *testing.M) { testproc.Main(m, nil) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a database with so many connections, and a table in it.
func open(t *testing.T, connections int) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate")
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	db.SetMaxOpenConns(connections)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
	must(t, err)
	return db
}

const (
	add = "INSERT INTO t (n, text) VALUES (?, ?)"
	one = "SELECT text FROM t WHERE n = ?"
	all = "SELECT n FROM t ORDER BY n"
)

// In a transaction that has the only connection nothing is prepared, and in the next one
// what it asked is ready. What is rolled back hasn't happened.
func TestTransactions(t *testing.T) {
	t.Parallel()
	db := open(t, 1)
	d := New(db)
	for n := range 3 {
		func() {
			tx, err := db.BeginTx(t.Context(), nil)
			must(t, err)
			in := d.In(tx)
			defer in.Over(t.Context())
			_, err = in.ExecContext(t.Context(), add, n, fmt.Sprint("row ", n))
			must(t, err)
			var text string
			must(t, in.QueryRowContext(t.Context(), one, n).Scan(&text))
			rows, err := in.QueryContext(t.Context(), all)
			must(t, err)
			count := 0
			for rows.Next() {
				must(t, in.QueryRowContext(t.Context(), one, 0).Scan(new(string))) // beside rows that are still read
				count++
			}
			must(t, rows.Err())
			must(t, rows.Close())
			if text != fmt.Sprint("row ", n) || count != n+1 && n < 2 {
				t.Errorf("%d: %q, of %d", n, text, count)
			}
			if asked := len(in.asked); (n == 0) != (asked > 0) {
				t.Errorf("%d: %d statements weren't ready", n, asked)
			}
			if n == 2 {
				must(t, tx.Rollback())
			} else {
				must(t, tx.Commit())
			}
		}()
	}
	if err := d.QueryRowContext(t.Context(), one, 2).Scan(new(string)); err != sql.ErrNoRows {
		t.Errorf("what was rolled back: %v", err)
	}
}

// Many ask at once, each statement is prepared once for all, and a table that changes
// meanwhile changes what it says.
func TestManyAsk(t *testing.T) {
	t.Parallel()
	db := open(t, 3)
	d := New(db)
	_, err := d.ExecContext(t.Context(), add, 1, "x")
	must(t, err)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range 50 {
				var text string
				if err := d.QueryRowContext(t.Context(), one, 1).Scan(&text); err != nil || text != "x" {
					t.Errorf("%q, %v", text, err)
				}
			}
		})
	}
	asking.Wait()
	if len(d.known) != 2 {
		t.Errorf("%d statements are kept", len(d.known))
	}
	_, err = db.ExecContext(t.Context(), "ALTER TABLE t RENAME TO old; CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
	must(t, err)
	if err := d.QueryRowContext(t.Context(), one, 1).Scan(new(string)); err != sql.ErrNoRows {
		t.Errorf("of a table that is another: %v", err)
	}
}

// What can't be prepared says why, in whichever way it is asked, and a context that has
// ended ends it.
func TestErrors(t *testing.T) {
	t.Parallel()
	db := open(t, 1)
	d := New(db)
	const wrong = "SELECT n FROM nowhere"
	_, plain := db.ExecContext(t.Context(), wrong)
	_, err1 := d.ExecContext(t.Context(), wrong)
	_, err2 := d.QueryContext(t.Context(), wrong) //nolint:rowserrcheck,sqlclosecheck // there are none
	err3 := d.QueryRowContext(t.Context(), wrong).Scan(new(int))
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	in := d.In(tx)
	_, err4 := in.ExecContext(t.Context(), wrong)
	must(t, tx.Rollback())
	in.Over(t.Context())
	for i, err := range []error{err1, err2, err3, err4} {
		if err == nil || err.Error() != plain.Error() {
			t.Errorf("%d: %v, want %v", i, err, plain)
		}
	}
	if len(d.known) != 0 {
		t.Errorf("kept: %v", d.known)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.ExecContext(over, add, 1, "x"); err == nil {
		t.Error("it went on")
	}
	if s, err := d.PrepareContext(t.Context(), all); err != nil || s.Close() != nil {
		t.Errorf("%v", err)
	}
}
