package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"paddock/internal/store"
	"paddock/internal/store/tables"
)

// What breaks connections is told apart from what is wrong with a question.
func TestTroubles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want tables.Trouble
	}{
		{&pgconn.PgError{Code: "57P01"}, tables.Away}, {&pgconn.PgError{Code: "57P03"}, tables.Away}, {&pgconn.PgError{Code: "08006"}, tables.Away},
		{&pgconn.PgError{Code: "25006"}, tables.Away}, {&pgconn.PgError{Code: "53300"}, tables.Away}, {&pgconn.PgError{Code: "55P03"}, tables.Away},
		{io.ErrUnexpectedEOF, tables.Away}, {driver.ErrBadConn, tables.Away}, {&net.OpError{Op: "read", Err: errors.New("reset")}, tables.Away}, {errors.New("conn closed"), tables.Away},
		{&pgconn.PgError{Code: "40001"}, tables.Again}, {&pgconn.PgError{Code: "23505"}, tables.Exists}, {&pgconn.PgError{Code: "42501"}, tables.Other},
		{context.Canceled, tables.Other}, {errors.New("anything"), tables.Other},
	} {
		if got := trouble(fmt.Errorf("asking: %w", c.err)); got != c.want {
			t.Errorf("%v: %d, not %d", c.err, got, c.want)
		}
	}
}

// Whom the database doesn't let in is told what is wrong; where there is none, it is away.
func TestNobodyThereIsAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// Nobody listens at the near end of a connection, and nobody else can have its port.
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	address := "postgres://u:p@" + c.LocalAddr().String() + "/x?sslmode=disable"
	if _, err := Open(t.Context(), address, Options{}); !errors.Is(err, store.ErrAway) {
		t.Errorf("nobody there: %v", err)
	}
	if err := Listen(t.Context(), address, Options{}, func(string) { t.Error("heard something") }); !errors.Is(err, store.ErrAway) {
		t.Errorf("nobody there to listen to: %v", err)
	}
	if err := away(&pgconn.PgError{Code: "28P01"}); errors.Is(err, store.ErrAway) {
		t.Errorf("a wrong password: %v", err)
	}
}

// Both ends are told to give up what nobody answers.
func TestWired(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"postgres://u@h/x": connecting, "postgres://u@h/x?connect_timeout=2": 2 * time.Second, "postgres://u@h/x?connect_timeout=600": connecting} {
		cfg, err := pgx.ParseConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		wired(cfg)
		if cfg.ConnectTimeout != want || cfg.RuntimeParams["tcp_user_timeout"] != "10s" || cfg.DialFunc == nil {
			t.Errorf("%s: %v, %v", text, cfg.ConnectTimeout, cfg.RuntimeParams)
		}
	}
}
