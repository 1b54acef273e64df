package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"paddock"
	"paddock/internal/store"
)

func fine(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// NewDatabase makes a database and its owner, both called many, where the address is a
// superuser's, and returns the owner's address.
func NewDatabase(t testing.TB, super string) string {
	t.Helper()
	address, err := url.Parse(super)
	fine(t, err)
	db, err := sql.Open("pgx", super)
	fine(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE ROLE many LOGIN PASSWORD 'many'")
	fine(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE DATABASE many OWNER many")
	fine(t, errors.Join(err, db.Close()))
	address.User, address.Path = url.UserPassword("many", "many"), "/many"
	return address.String()
}

// Copy puts in a copy of the record of each run.
func Copy(t testing.TB, driver, database string, ids []paddock.RunID, of func(paddock.RunID) store.Copy) {
	t.Helper()
	db, err := sql.Open(driver, database)
	fine(t, err)
	var there int
	fine(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM copies").Scan(&there))
	if there >= len(ids) {
		ids = nil // they were made before
	}
	for some := range slices.Chunk(ids, 10_000) {
		tx, err := db.BeginTx(t.Context(), nil)
		fine(t, err)
		put, err := tx.PrepareContext(t.Context(), "INSERT INTO copies (run, stamp, record) VALUES ($1, $2, $3) ON CONFLICT (run) DO UPDATE SET stamp = excluded.stamp, record = excluded.record")
		fine(t, err)
		for _, id := range some {
			c := of(id)
			_, err = put.ExecContext(t.Context(), string(c.Run), c.Stamp, []byte(c.Record))
			fine(t, err)
		}
		fine(t, errors.Join(put.Close(), tx.Commit()))
	}
	fine(t, db.Close())
}

// Multiply copies the row of a run for each id, unless that was done before. It is for who measures what many rows
// cost; the driver is one that a backend registers.
func Multiply(t testing.TB, driver, database string, model paddock.RunID, ids []paddock.RunID) {
	t.Helper()
	db, err := sql.Open(driver, database)
	fine(t, err)
	columns := "SELECT group_concat(name, ', ') FROM pragma_table_info('runs')"
	if driver != "sqlite" {
		columns = "SELECT string_agg(column_name, ', ') FROM information_schema.columns WHERE table_name = 'runs'"
	}
	var names string
	fine(t, db.QueryRowContext(t.Context(), columns).Scan(&names))
	var values []string
	for name := range strings.SplitSeq(names, ", ") {
		switch name {
		case "id", "created":
			name = "many." + name
		case "key":
			name = "''"
		default:
			name = "runs." + name
		}
		values = append(values, name)
	}
	many := "(SELECT value ->> 0 AS id, value ->> 1 AS created FROM json_each($1))"
	if driver != "sqlite" {
		many = "(SELECT value ->> 0 AS id, (value ->> 1)::bigint AS created FROM json_array_elements($1::json))"
	}
	var there int
	fine(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM runs").Scan(&there))
	if there > len(ids) {
		ids = nil // they were made before
	}
	for some := range slices.Chunk(ids, 10_000) {
		var text strings.Builder
		for i, id := range some {
			fmt.Fprintf(&text, "%c[%q,%d]", "[,"[min(i, 1)], string(id), id.Time().UnixMicro())
		}
		_, err := db.ExecContext(t.Context(), "INSERT INTO runs ("+names+") SELECT "+strings.Join(values, ", ")+" FROM runs, "+many+" AS many WHERE runs.id = $2", text.String()+"]", string(model))
		fine(t, err)
	}
	fine(t, db.Close())
}
