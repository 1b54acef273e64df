package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"paddock/internal/store"
)

// Channel is where the database says that runs have changed.
const Channel = "paddock_runs"

// Listen calls heard with what the database says of runs, and once when it begins, since
// something may have been missed: "q" when one was queued, "c WORKER" when one is to be
// ended, "s" when one has come further, and "" for any of these. It returns when ctx ends
// or the connection does.
func Listen(ctx context.Context, address string, o Options, heard func(what string)) error {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return fmt.Errorf("%w address of a database: %w", store.ErrInvalid, err)
	}
	if err := encrypted(cfg, o); err != nil {
		return err
	}
	cfg.RuntimeParams["application_name"] = "paddock hints"
	wired(cfg)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return away(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN paddock_runs"); err != nil {
		return errors.Join(err, ctx.Err())
	}
	heard("")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("hints of the database: %w", err)
		}
		heard(n.Payload)
	}
}
