//go:build linux

package main

import (
	"context"

	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/cmd/paddock/internal/desk/people"
	"paddock/internal/httpapi/entry/gate/accounts/opened"
	"paddock/internal/httpapi/traced"
	"paddock/internal/store/tables/sqlite"
)

// keepAccounts makes the test binary the server, too, as the tag of that name does.
func keepAccounts() {
	copyDatabase, renewDatabase = sqlite.Backup, sqlite.Restore
	openAccounts = func(ctx context.Context, c people.Config) (people.Accounts, error) {
		return opened.Open(ctx, opened.Config{
			State: c.State, Postgres: c.Postgres, Serving: c.Serving, Settings: c.Settings, Accept: c.Accept, Secure: c.Secure, Now: c.Now, Other: c.Other, Origin: c.Origin, Providers: c.Providers,
			Hub: c.Hub, Warn: c.Warn, Roots: c.Roots,
		})
	}
	openTraces = traced.Open
	openQueue = func(ctx context.Context, file string) (crew.Queue, crew.Hints, error) {
		return opened.Worker(ctx, file)
	}
}
