// Package prepared keeps statements of a database ready, for one that works out anew what a
// statement means each time: of a run that SQLite queues and hands over that was a third.
//
// # Limits
//
// It is for statements that are constants of a program: each is kept until the database is
// closed. The first time it is asked in a transaction a statement isn't ready yet: there is
// perhaps one connection, and the transaction has it.
package prepared

import (
	"context"
	"database/sql"
	"sync"
)

// A DB asks a database, of which it keeps statements ready. Its methods may be called
// concurrently. It must be made with [New].
type DB struct {
	db    *sql.DB
	mu    sync.Mutex
	known map[string]*sql.Stmt // guarded by mu
}

// New returns what asks db, which is closed by who opened it.
func New(db *sql.DB) *DB { return &DB{db: db, known: map[string]*sql.Stmt{}} }

func (d *DB) ready(query string) *sql.Stmt {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[query]
}

// prepare has a statement ready from now on. An error is told by who asks it otherwise.
func (d *DB) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := d.ready(query); s != nil {
		return s, nil
	}
	s, err := d.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if first := d.known[query]; first != nil {
		return first, s.Close()
	}
	d.known[query] = s
	return s, nil
}

// ExecContext is as of [sql.DB].
func (d *DB) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := d.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// QueryContext is as of [sql.DB].
func (d *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := d.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// QueryRowContext is as of [sql.DB].
func (d *DB) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := d.prepare(ctx, query)
	if err != nil {
		return d.db.QueryRowContext(ctx, query, args...) // which says why
	}
	return s.QueryRowContext(ctx, args...)
}

// PrepareContext is as of [sql.DB]: the statement is the caller's.
func (d *DB) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return d.db.PrepareContext(ctx, query)
}

// A Tx asks in a transaction. It is for one goroutine.
type Tx struct {
	tx    *sql.Tx
	of    *DB
	asked []string // and not ready
}

// In returns what asks in tx, which is of the same database.
func (d *DB) In(tx *sql.Tx) *Tx { return &Tx{tx: tx, of: d} }

// Over is for when the transaction has ended: what it asked is ready for the next one. What
// can't be prepared is asked without.
func (t *Tx) Over(ctx context.Context) {
	for _, query := range t.asked {
		if _, err := t.of.prepare(ctx, query); err != nil {
			return
		}
	}
}

func (t *Tx) ready(ctx context.Context, query string) *sql.Stmt {
	if s := t.of.ready(query); s != nil {
		return t.tx.StmtContext(ctx, s)
	}
	t.asked = append(t.asked, query)
	return nil
}

// ExecContext is as of [sql.Tx].
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := t.ready(ctx, query); s != nil {
		return s.ExecContext(ctx, args...)
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext is as of [sql.Tx].
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := t.ready(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext is as of [sql.Tx].
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := t.ready(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}

// PrepareContext is as of [sql.Tx].
func (t *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return t.tx.PrepareContext(ctx, query)
}
