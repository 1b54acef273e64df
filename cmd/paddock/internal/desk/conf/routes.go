package conf

import (
	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate/past"
	"paddock/internal/httpapi/entry/gate/quota"
	"paddock/internal/httpapi/entry/gate/search"
)

// Partial reports whether a call's credential shows only some of its owner's runs.
func Partial(w search.Workspaces) func(*entry.Call) (bool, error) {
	return func(c *entry.Call) (bool, error) {
		sees, err := w.Sees(c.Context(), c.Caller)
		return sees != nil, err
	}
}

// Routes are those beside the door's own: of accounts, of the journal, of quotas, and to search.
func Routes(d *desk.Desk, house search.House, workspaces search.Workspaces, used quota.House, accounts func(*entry.Entrance)) func(*entry.Entrance) {
	return func(in *entry.Entrance) {
		accounts(in)
		search.Routes(in, house, workspaces)
		quota.Routes(in, used)
		past.Routes(in, func(p paddock.Principal) (*evidence.Evidence, error) {
			return evidence.Open(p, d.StateDir(d.State), d.Now)
		})
	}
}
