//go:build server

package main

import (
	"context"

	"paddock/cmd/paddock/internal/desk/people"
	"paddock/internal/httpapi/entry/gate/accounts/opened"
)

func init() {
	openAccounts = func(ctx context.Context, c people.Config) (people.Accounts, error) {
		return opened.Open(ctx, opened.Config{
			State: c.State, Postgres: c.Postgres, Secure: c.Secure, Now: c.Now, Other: c.Other, Origin: c.Origin, Providers: c.Providers,
		})
	}
}
