//go:build server

package main

import (
	"context"

	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/internal/httpapi/entry/gate/accounts/opened"
)

func init() {
	openAccounts = func(ctx context.Context, c accountsConfig) (accounts, error) {
		return opened.Open(ctx, opened.Config{State: c.state, Postgres: c.postgres, Secure: c.secure, Now: c.now, Other: c.other, Hub: c.hub, Roots: c.roots})
	}
	openQueue = func(ctx context.Context, file string) (crew.Queue, crew.Hints, error) {
		return opened.Worker(ctx, file)
	}
}
