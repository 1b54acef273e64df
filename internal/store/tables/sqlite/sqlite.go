// Package sqlite keeps the store in one SQLite file, for a server on one machine.
//
// Whoever changes something is the only one who does, in this process (one
// connection) and beside it (a transaction begins with the lock). Readers wait for
// nobody. What was answered is on the disk.
//
// # Limits
//
// The file must be on a local disk, and ours alone. Only this package's SQLite may
// write to a database that is in use: older ones have bugs that WAL files don't
// survive. A copy of the file isn't a backup while it is open; [Backup] makes one.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"paddock/internal/store"
	"paddock/internal/store/tables"
)

//go:embed migrations/*.sql
var embedded embed.FS

// readers is how many can read at once.
const readers = 4

// Open opens the database at the absolute path, and makes it if there is none.
// ErrOpen says that others can read it, ErrNewer that it isn't for us.
func Open(ctx context.Context, path string) (*tables.Tables, error) {
	release, err := prepare(path)
	if err != nil {
		return nil, err
	}
	write, err := sql.Open("sqlite", address(path, "_txlock=immediate"))
	if err != nil {
		return nil, errors.Join(err, release())
	}
	write.SetMaxOpenConns(1)
	err = migrate(ctx, write)
	if err := errors.Join(err, release()); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read, err := sql.Open("sqlite", address(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(readers)
	return tables.New(read, write, trouble).Prepared(), nil
}

func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return err
	}
	return tables.Migrate(ctx, db, goose.DialectSQLite3, files)
}

// address says how the file is opened: synchronous FULL, since in a WAL less than
// that loses what was answered when the machine goes down.
func address(path, more string) string {
	return (&url.URL{Scheme: "file", Path: path}).String() +
		"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)&" + more
}

func trouble(err error) tables.Trouble {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return tables.Other
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return tables.Exists
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return tables.Orphan
	}
	if e.Code()&0xff == sqlite3.SQLITE_BUSY {
		return tables.Again
	}
	return tables.Other
}

// Backup writes the database at path, which may be in use, to a new file.
func Backup(ctx context.Context, path, to string) error {
	release, err := prepareOld(path)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", address(path, "_pragma=query_only(0)"))
	if err != nil {
		return errors.Join(err, release())
	}
	db.SetMaxOpenConns(1)
	err = vacuum(ctx, db, to)
	return errors.Join(err, db.Close(), release())
}

// Restore makes the database at path, where there is none, from a backup, after
// looking at every page of it.
func Restore(ctx context.Context, from, path string) error {
	if _, err := prepareOld(from); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: from}).String()+"?mode=ro&immutable=1&_pragma=trusted_schema(0)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	err = sound(ctx, db)
	if err == nil {
		err = vacuum(ctx, db, path)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	t, err := Open(ctx, path) // a backup of an older version is brought up to date
	if err != nil {
		return err
	}
	return t.Close()
}

// sound says what is wrong with a database.
func sound(ctx context.Context, db *sql.DB) error {
	var word string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&word); err != nil {
		return fmt.Errorf("not a whole database: %w", err)
	}
	if word != "ok" {
		return fmt.Errorf("not a whole database: %s", word)
	}
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	known := p.ListSources()
	var have int64
	if err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&have); err != nil {
		return fmt.Errorf("not a database of Paddock's: %w", err)
	}
	if newest := known[len(known)-1].Version; have > newest {
		return fmt.Errorf("%w: its tables are of version %d, this Paddock knows up to %d", store.ErrNewer, have, newest)
	}
	return nil
}

func vacuum(ctx context.Context, db *sql.DB, to string) error {
	if !filepath.IsAbs(to) {
		return fmt.Errorf("%w: %q isn't an absolute path", store.ErrInvalid, to)
	}
	// Into an empty file of ours: SQLite would make one that others can read.
	if err := makeFile(to); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", to); err != nil {
		return errors.Join(fmt.Errorf("copying the database: %w", err), removeFile(to))
	}
	return syncFile(to)
}
