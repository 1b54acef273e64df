package tables

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"paddock/internal/store"
)

// Migrate makes the tables, or brings them up to date. Who calls sees to it that
// only one does at a time. A database that is newer than we are stays as it is.
func Migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, migrations fs.FS, options ...goose.ProviderOption) error {
	// Without the global registry nothing but these files can take part.
	p, err := goose.NewProvider(dialect, db, migrations, append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	have, newest, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if have > newest {
		return fmt.Errorf("%w: its tables are of version %d, this Paddock knows up to %d", store.ErrNewer, have, newest)
	}
	if have == newest {
		return nil
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	return nil
}
