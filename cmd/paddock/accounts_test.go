//go:build linux

package main

import (
	"context"

	"paddock/internal/httpapi/entry/gate/accounts/opened"
	"paddock/internal/store/tables/sqlite"
)

// keepAccounts makes the test binary the server, too, as the tag of that name does.
func keepAccounts() {
	copyDatabase, renewDatabase = sqlite.Backup, sqlite.Restore
	openAccounts = func(ctx context.Context, c accountsConfig) (accounts, error) {
		return opened.Open(ctx, opened.Config{State: c.state, Postgres: c.postgres, Accept: c.accept, Secure: c.secure, Now: c.now, Other: c.other})
	}
}
