package conf

import (
	"context"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/httpapi/entry/gate/past"
	"paddock/internal/httpapi/entry/gate/past/attested"
	"paddock/internal/httpapi/entry/gate/past/ruling"
	"paddock/internal/httpapi/entry/gate/quota"
	"paddock/internal/httpapi/entry/gate/search"
	"paddock/internal/journal/sign"
)

// A House also has other machines attest what they carried out.
type House interface {
	narrow.House
	Attest(ctx context.Context, p paddock.Principal, id paddock.RunID) (sign.Envelope, error)
}

// Routes are those beside the door's own: of accounts, of the journal, of quotas, and to search.
func Routes(d *desk.Desk, house House, spaces narrow.Workspaces, used quota.House, accounts func(*entry.Entrance)) func(*entry.Entrance) {
	return func(in *entry.Entrance) {
		accounts(in)
		search.Routes(in, func(ctx context.Context, c gate.Caller) (search.House, error) {
			return narrow.For(ctx, house, spaces, c)
		})
		quota.Routes(in, used)
		open := func(p paddock.Principal) (*evidence.Evidence, error) {
			return evidence.Open(p, d.StateDir(d.State), d.Now)
		}
		past.Routes(in, open)
		ruling.Routes(in, open)
		attested.Routes(in, attested.Config{
			Seen: func(ctx context.Context, c gate.Caller) (attested.House, error) {
				return narrow.For(ctx, house, spaces, c)
			},
			Open:      func() (*evidence.Evidence, error) { return open(d.Operator()) },
			Elsewhere: house.Attest,
		})
	}
}
