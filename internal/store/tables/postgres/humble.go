package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"paddock/internal/store"
)

// asGood names a role by which who is connected can do as much as a superuser, and how.
// What counts is every role that he has, by however many others, also one that he gave up
// for another when he connected: he may take it back.
//
//   - Before PostgreSQL 16 who makes roles gives any role but a superuser's to himself. From
//     then on he gives those alone that he has with the option to give them, and they count.
//   - Who replicates has all files of the database sent to him, those of others too.
//   - Functions that read and write files can be given without the roles that exist for it.
const asGood = `WITH mine AS (SELECT * FROM pg_roles WHERE pg_has_role(session_user, oid, 'MEMBER')),
	how AS (
		SELECT rolname, 0 AS how FROM mine WHERE rolsuper
		UNION ALL SELECT rolname, 1 FROM mine WHERE rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')
		UNION ALL SELECT rolname, 2 FROM mine WHERE rolcreaterole AND current_setting('server_version_num')::int < 160000
		UNION ALL SELECT rolname, 3 FROM mine WHERE rolreplication
		UNION ALL SELECT rolname, 4 FROM mine WHERE EXISTS (SELECT FROM pg_proc p
			WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN ('pg_read_file', 'pg_read_binary_file', 'lo_import', 'lo_export')
				AND has_function_privilege(mine.oid, p.oid, 'EXECUTE'))
	)
	SELECT rolname, how FROM how ORDER BY how, rolname <> session_user, rolname LIMIT 1`

// humble refuses who is a superuser there, or can do as much as one: read files of that
// machine or start programs there.
func humble(ctx context.Context, db *sql.DB) error {
	var role string
	var how int
	switch err := db.QueryRowContext(ctx, asGood).Scan(&role, &how); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return away(err)
	}
	quoted := `"` + strings.ReplaceAll(role, `"`, `""`) + `"`
	return fmt.Errorf("%w: its user for Paddock %s; give Paddock a user of its own, or accept superuser", store.ErrOpen, []string{
		"is a superuser or can become " + quoted + ", who is one",
		"has the role " + quoted + ", who reads files or starts programs there like a superuser",
		"can give itself roles that read files and start programs like a superuser, by " + quoted + ", who makes roles (ALTER ROLE " + quoted + " NOCREATEROLE)",
		"can read all files of the database like a superuser, by " + quoted + ", who replicates (ALTER ROLE " + quoted + " NOREPLICATION)",
		"can use functions that read or write files there like a superuser, which " + quoted + " was given (REVOKE EXECUTE ON FUNCTION …)",
	}[how])
}
