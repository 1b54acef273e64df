//go:build server

package main

import (
	"context"

	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/internal/httpapi/entry/gate/accounts/opened"
	"paddock/internal/store/tables/sqlite"
)

func init() {
	copyDatabase, renewDatabase = sqlite.Backup, sqlite.Restore
	openAccounts = func(ctx context.Context, c accountsConfig) (accounts, error) {
		return opened.Open(ctx, opened.Config{State: c.state, Postgres: c.postgres, Accept: c.accept, Secure: c.secure, Now: c.now, Other: c.other, Hub: c.hub, House: c.house, Roots: c.roots})
	}
	openQueue = func(ctx context.Context, file string) (crew.Queue, crew.Hints, error) {
		return opened.Worker(ctx, file)
	}
}
