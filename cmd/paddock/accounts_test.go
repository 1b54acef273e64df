//go:build linux

package main

import (
	"context"

	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/internal/httpapi/entry/gate/accounts/opened"
)

// keepAccounts makes the test binary the server, too, as the tag of that name does.
func keepAccounts() {
	openAccounts = func(ctx context.Context, c accountsConfig) (accounts, error) {
		return opened.Open(ctx, opened.Config{State: c.state, Postgres: c.postgres, Secure: c.secure, Now: c.now, Other: c.other})
	}
	openQueue = func(ctx context.Context, file string) (crew.Queue, crew.Hints, error) { return opened.Worker(ctx, file) }
}
