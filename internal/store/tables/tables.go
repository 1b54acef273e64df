// Package tables keeps what package store promises in tables, of whichever
// database is given to it: its children open them. The queries stand in
// queries/*.sql, from which sqlc writes the package queries (make queries); there
// is one set for all databases (docs/design/0070-the-store.md).
//
// # Limits
//
// It opens no database, makes no tables and knows no address: sqlite and postgres,
// below it, do. Forms are checked by package form before anything is asked.
package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"paddock/internal/store"
	"paddock/internal/store/tables/prepared"
	"paddock/internal/store/tables/queries"
)

// A Trouble is what an error of a database means.
type Trouble int

// The troubles.
const (
	Other  Trouble = iota
	Exists         // there is something else of which there can be only one
	Orphan         // it belongs to something that isn't there
	Again          // others were in the way; the same can be tried again
	Away           // it isn't there, or went meanwhile
)

// An Engine tells what an error of its database means. That is all in which
// databases differ, once they are open.
type Engine func(error) Trouble

// Tables is a [store.Store]. It must be made with [New].
type Tables struct {
	engine      Engine
	read, write *sql.DB
	asks, does  *queries.Queries
	kept        *prepared.DB // of write; nil where nothing is kept
}

var _ store.Store = (*Tables)(nil)

// New returns the store in a database, which it will close: read is for queries,
// write for changes. They may be the same.
func New(read, write *sql.DB, e Engine) *Tables {
	return &Tables{engine: e, read: read, write: write, asks: queries.New(read), does: queries.New(write)}
}

// Prepared keeps statements ready, for a database that doesn't itself.
func (t *Tables) Prepared() *Tables {
	t.kept = prepared.New(t.write)
	t.asks, t.does = queries.New(prepared.New(t.read)), queries.New(t.kept)
	return t
}

// Ping says whether the database answers.
func (t *Tables) Ping(ctx context.Context) error {
	return t.say(errors.Join(t.read.PingContext(ctx), t.write.PingContext(ctx)))
}

// Close closes the database.
func (t *Tables) Close() error {
	err := t.read.Close()
	if t.write != t.read {
		err = errors.Join(err, t.write.Close())
	}
	return err
}

// attempts is how often a transaction is begun again that others were in the way of.
const attempts = 8

// change does something in one transaction: all of it, or nothing.
func (t *Tables) change(ctx context.Context, do func(*queries.Queries) error) error {
	for n := 1; ; n++ {
		err := t.try(ctx, do)
		if err == nil || n == attempts || t.engine(err) != Again {
			return t.say(err)
		}
	}
}

func (t *Tables) try(ctx context.Context, do func(*queries.Queries) error) error {
	tx, err := t.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	over := false
	defer func() {
		if !over { // do didn't return: a database that waits for it would wait for ever
			_ = tx.Rollback()
		}
	}()
	in := t.does.WithTx(tx)
	if t.kept != nil {
		kept := t.kept.In(tx)
		defer kept.Over(ctx)
		in = queries.New(kept)
	}
	err = do(in)
	over = true
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// say puts an error of the database into the words of the contract.
func (t *Tables) say(err error) error {
	switch {
	case err == nil, errors.Is(err, store.ErrInvalid):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return store.ErrNotFound
	}
	switch t.engine(err) {
	case Exists:
		return store.ErrExists
	case Orphan:
		return store.ErrNotFound
	case Away:
		return fmt.Errorf("%w: %w", store.ErrAway, err)
	}
	for _, ours := range []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrReplayed, store.ErrStale, store.ErrFenced, store.ErrOver, store.ErrLastAdmin} {
		if errors.Is(err, ours) {
			return err
		}
	}
	return fmt.Errorf("the database: %w", err)
}

// some is about a change of one thing: none changed means that there is none.
func (t *Tables) some(n int64, err error) error {
	if err == nil && n == 0 {
		return store.ErrNotFound
	}
	return t.say(err)
}

// readable refuses what PostgreSQL couldn't compare and SQLite could.
func readable[T ~string](words ...T) error {
	for _, w := range words {
		if len(w) > store.MostText || strings.IndexByte(string(w), 0) >= 0 || !utf8.ValidString(string(w)) {
			return store.ErrNotFound
		}
	}
	return nil
}

// asked is a page of which somebody wants to know what is on it.
type asked struct {
	created store.Moment
	id      string
	// most is one more than is shown, to see whether there are more.
	most int32
}

func ask(after store.Cursor, most int) (asked, error) {
	if after == (store.Cursor{}) {
		after.Created = store.Moment{Time: time.UnixMicro(math.MaxInt64).UTC()}
	}
	if most < 1 || most > store.MostPage {
		most = store.MostPage
	}
	if readable(after.ID) != nil {
		return asked{}, fmt.Errorf("%w cursor", store.ErrInvalid)
	}
	return asked{after.Created, after.ID, int32(most) + 1}, nil
}

// page makes a page of rows, of which the last is only a sign that there is more.
func page[R, T any](t *Tables, a asked, rows []R, err error, value func(R) T, at func(T) store.Cursor) (store.Page[T], error) {
	var p store.Page[T]
	if err != nil {
		return p, t.say(err)
	}
	if p.More = len(rows) == int(a.most); p.More {
		rows = rows[:len(rows)-1]
	}
	p.Items = all(rows, value)
	if len(rows) > 0 {
		p.Next = at(p.Items[len(rows)-1])
	}
	return p, nil
}

func all[R, T any](rows []R, value func(R) T) []T {
	values := make([]T, len(rows))
	for i, r := range rows {
		values[i] = value(r)
	}
	return values
}
