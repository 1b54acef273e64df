package postgres_test

import (
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"

	"paddock/internal/store"
	"paddock/internal/store/storetest"
	"paddock/internal/store/tables/postgres"
	"paddock/internal/testproc/cluster"
)

// A user is one of a database of his own, of which a superuser can say things.
type user struct{ name, address, boss string }

func newUser(t *testing.T) user {
	t.Helper()
	u := user{address: storetest.Database(t)}
	own, err := url.Parse(u.address)
	if err != nil {
		t.Fatal(err)
	}
	boss, err := url.Parse(cluster.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	u.name, boss.Path = own.User.Username(), own.Path
	u.boss = boss.String()
	return u
}

// is has a superuser say statements in which ME is the user, and MEx a role beside him.
func (u user) is(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		do(t, u.boss, strings.ReplaceAll(s, "ME", u.name))
	}
}

// refused opens the user's database, whose opening is refused with words such as says, or
// not at all; and is never where that is put up with.
func (u user) refused(t *testing.T, says string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), u.address, postgres.Options{NoMigration: true})
	if err == nil {
		err = s.Close()
	}
	switch {
	case says == "" && err != nil:
		t.Error(err)
	case says != "" && (!errors.Is(err, store.ErrOpen) || !strings.Contains(err.Error(), "superuser") || !strings.Contains(err.Error(), strings.ReplaceAll(says, "ME", u.name))):
		t.Errorf("%v, want %q", err, says)
	}
	if s, err = postgres.Open(t.Context(), u.address, postgres.Options{NoMigration: true, Superuser: true}); err != nil {
		t.Fatal("although it was said:", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Who can do as much as a superuser is one, and so is who could before he became another.
func TestAsGoodAsSuperuserIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		is   []string
		says string
	}{
		"nothing else":                {nil, ""},
		"a role that reads all rows":  {[]string{"GRANT pg_read_all_data TO ME"}, ""},
		"one who makes databases":     {[]string{"ALTER ROLE ME CREATEDB BYPASSRLS"}, ""},
		"a superuser's role":          {[]string{"GRANT boss TO ME"}, `become "boss"`},
		"without having it by itself": {[]string{"ALTER ROLE ME NOINHERIT", "GRANT boss TO ME"}, `become "boss"`},
		"by another role":             {[]string{"CREATE ROLE MEx", "GRANT boss TO MEx", "GRANT MEx TO ME"}, `become "boss"`},
		"one who starts programs":     {[]string{"GRANT pg_execute_server_program TO ME"}, `"pg_execute_server_program"`},
		"one who reads files":         {[]string{"GRANT pg_read_server_files TO ME"}, `"pg_read_server_files"`},
		"one who writes files":        {[]string{"GRANT pg_write_server_files TO ME"}, `"pg_write_server_files"`},
		"one who has become another":  {[]string{"CREATE ROLE MEx", "ALTER ROLE ME SUPERUSER", "ALTER ROLE ME SET role TO MEx"}, `become "ME"`},
		"one who replicates":          {[]string{"ALTER ROLE ME REPLICATION"}, `ALTER ROLE "ME" NOREPLICATION`},
		"another one who replicates":  {[]string{"CREATE ROLE MEx REPLICATION", "GRANT MEx TO ME"}, `ALTER ROLE "MEx" NOREPLICATION`},
		"a function that reads files": {[]string{"GRANT EXECUTE ON FUNCTION pg_read_file(text) TO ME"}, `"ME" was given`},
		"another one's that reads":    {[]string{"CREATE ROLE MEx", "ALTER ROLE ME NOINHERIT", "GRANT MEx TO ME", "GRANT EXECUTE ON FUNCTION lo_import(text) TO MEx"}, `"MEx" was given`},
		"everybody's that writes":     {[]string{"GRANT EXECUTE ON FUNCTION lo_export(oid, text) TO PUBLIC"}, `"ME" was given`},
	} {
		t.Run(what, func(t *testing.T) {
			u := newUser(t)
			u.is(t, c.is...)
			u.refused(t, c.says)
		})
	}
}

// Who makes roles is refused where PostgreSQL has him give himself one that reads files,
// and nowhere else: since version 16 it has him give those alone that he may give.
func TestWhoMakesRoles(t *testing.T) {
	for what, is := range map[string][]string{
		"himself":                   {"ALTER ROLE ME CREATEROLE"},
		"by another role":           {"CREATE ROLE MEx CREATEROLE", "ALTER ROLE ME NOINHERIT", "GRANT MEx TO ME"},
		"and who became another":    {"CREATE ROLE MEx", "GRANT MEx TO ME", "ALTER ROLE ME CREATEROLE", "ALTER ROLE ME SET role TO MEx"},
		"and whose name is strange": {"CREATE ROLE \"ME\"\"x\" CREATEROLE", "GRANT \"ME\"\"x\" TO ME"},
	} {
		t.Run(what, func(t *testing.T) {
			u := newUser(t)
			u.is(t, is...)
			says := ""
			if u.rises(t) {
				says = "NOCREATEROLE"
			}
			u.refused(t, says)
		})
	}
}

// rises reports whether the user can give himself a role that reads files, and then takes
// it from him.
func (u user) rises(t *testing.T) bool {
	t.Helper()
	db, err := sql.Open("pgx", u.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	roles := []string{"NONE", u.name + "x", `"` + u.name + `""x"`}
	for _, role := range roles {
		if _, err := conn.ExecContext(t.Context(), "SET ROLE "+role); err != nil {
			continue // it isn't his
		}
		if _, err := conn.ExecContext(t.Context(), "GRANT pg_read_server_files TO "+u.name); err == nil {
			u.is(t, "REVOKE pg_read_server_files FROM ME")
			return true
		}
	}
	return false
}
