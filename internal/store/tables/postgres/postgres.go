// Package postgres keeps the store in a PostgreSQL database, for servers and
// workers on several machines.
//
// # Limits
//
// Rights within the database are given by whoever runs it: docs/store.md has
// the roles. Backups are pg_dump's. What the address leaves out is taken by pgx
// from its own defaults, PGPASSFILE and the other variables of libpq among them.
// Of several machines in an address those count that are there when it is opened.
package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"paddock/internal/store"
	"paddock/internal/store/tables"
)

//go:embed migrations/*.sql
var embedded embed.FS

// Options are what is accepted of a database. The zero value accepts the least.
type Options struct {
	// AnyPassword accepts one that lets us in whatever the password is: by peer
	// credentials, a certificate, or because it lets in everybody.
	AnyPassword bool
	// Superuser accepts to be one, or to be able to do as much as one.
	Superuser bool
	// PlainText accepts another machine without TLS.
	PlainText bool
	// MostConnections is how many there are at most; 0 stands for 16.
	MostConnections int
	// NoMigration leaves the tables as they are; for workers, who may not.
	NoMigration bool
}

// Open opens the database at a postgres:// address. ErrOpen says that others could
// get into it, ErrNewer that its tables aren't for us.
func Open(ctx context.Context, address string, o Options) (*tables.Tables, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		// The error of pgx has the address in it, without the password.
		return nil, fmt.Errorf("%w address of a database: %w", store.ErrInvalid, err)
	}
	if err := encrypted(cfg, o); err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = "paddock"
	cfg.RuntimeParams["lock_timeout"] = "10s"
	// Who went away in the middle of something keeps nobody else from it for long.
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = "10s"
	wired(cfg)
	if err := guarded(ctx, cfg, o); err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*cfg)
	most := o.MostConnections
	if most < 1 {
		most = 16
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if err := ready(ctx, db, o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return tables.New(db, db, trouble), nil
}

// encrypted refuses to talk to another machine in the open, or to one that we
// can't know to be the one that was meant.
func encrypted(cfg *pgx.ConnConfig, o Options) error {
	if o.PlainText {
		return nil
	}
	// An address may name several machines, and so may one that begins with this one.
	for _, at := range ways(cfg) {
		open := at.TLSConfig == nil || at.TLSConfig.InsecureSkipVerify && at.TLSConfig.VerifyPeerCertificate == nil
		if open && !local(at.Host) {
			return fmt.Errorf("%w: the connection to %s isn't encrypted, or to whoever answers; add sslmode=verify-full", store.ErrOpen, at.Host)
		}
	}
	return nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || host == "localhost" || ip != nil && ip.IsLoopback()
}

// guarded knocks at each machine that the address names with a password that can't be right:
// the database may be on another one tomorrow. One that isn't there isn't looked at, as long
// as another one is.
func guarded(ctx context.Context, cfg *pgx.ConnConfig, o Options) error {
	if o.AnyPassword {
		return nil
	}
	all := machines(cfg)
	said := make([]error, len(all))
	var knocks sync.WaitGroup
	for i, at := range all {
		knocks.Go(func() { said[i] = knock(ctx, cfg, at) })
	}
	knocks.Wait()
	for _, err := range said {
		if errors.Is(err, store.ErrOpen) {
			return err
		}
	}
	if slices.Contains(said, nil) {
		return nil
	}
	return errors.Join(said...)
}

// machines are the ways to each machine that an address names, with and without TLS where
// both will do.
func machines(cfg *pgx.ConnConfig) (all [][]*pgconn.FallbackConfig) {
	for _, at := range ways(cfg) {
		if n := len(all) - 1; n >= 0 && all[n][0].Host == at.Host && all[n][0].Port == at.Port {
			all[n] = append(all[n], at)
		} else {
			all = append(all, []*pgconn.FallbackConfig{at})
		}
	}
	return all
}

// ways are all that an address names, in its order.
func ways(cfg *pgx.ConnConfig) []*pgconn.FallbackConfig {
	return append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}}, cfg.Fallbacks...)
}

// knock knocks at one machine; nil is that the password was looked at.
func knock(ctx context.Context, cfg *pgx.ConnConfig, at []*pgconn.FallbackConfig) error {
	wrong := cfg.Copy()
	wrong.Password = rand.Text()
	wrong.Host, wrong.Port, wrong.TLSConfig, wrong.Fallbacks = at[0].Host, at[0].Port, at[0].TLSConfig, at[1:]
	wrong.ValidateConnect = nil // also at one that isn't the first among them today
	conn, err := pgx.ConnectConfig(ctx, wrong)
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("%w: %s let %s in with a wrong password, so perhaps lets in everybody; ask for one in pg_hba.conf (scram-sha-256)", store.ErrOpen, wrong.Host, cfg.User), conn.Close(ctx))
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "28"): // invalid authorization
		return nil
	}
	return away(err)
}

// ready looks at who we are there, and at the tables.
func ready(ctx context.Context, db *sql.DB, o Options) error {
	if err := humble(ctx, db); err != nil && !(o.Superuser && errors.Is(err, store.ErrOpen)) {
		return err
	}
	if o.NoMigration {
		return nil
	}
	// Servers that begin at the same time wait for one another.
	one, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return err
	}
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return err
	}
	return tables.Migrate(ctx, db, goose.DialectPostgres, files, goose.WithSessionLocker(one))
}

func trouble(err error) tables.Trouble {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		if broken(err) {
			return tables.Away
		}
		return tables.Other
	}
	if gone(e.Code) {
		return tables.Away
	}
	switch e.Code {
	case "23505":
		return tables.Exists
	case "23503":
		return tables.Orphan
	case "40001", "40P01":
		return tables.Again
	}
	return tables.Other
}

// WorkerRights are the statements that give a database user, in the place of ROLE,
// what a worker needs and no more: of runs it changes what happened to them, never
// what they are.
var WorkerRights = []string{
	"GRANT SELECT ON runs, workers, turns TO ROLE",
	"GRANT UPDATE (taken) ON turns TO ROLE",
	"GRANT UPDATE (epoch, beat, labels, capacity, version, last_seen, lease_until, lost_after) ON workers TO ROLE",
	"GRANT UPDATE (state, worker, fence, claimed, started, settled, outcome, stdout_bytes, stderr_bytes, stdout_digest, stderr_digest, events, revision) ON runs TO ROLE",
}
