// Package quota has the route about what one has used of one's quotas.
//
// # Limits
//
// Quotas are changed in the policy.
package quota

import (
	"context"
	"net/http"

	"paddock"
	"paddock/internal/app/used"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
)

// A House says what was used. [used.House] is one.
type House interface {
	Quotas(ctx context.Context, by, of paddock.Principal) (used.Quotas, error)
}

// Routes adds the route.
func Routes(in *entry.Entrance, house House) {
	row := entry.NewRow(http.MethodGet, "quotas", "getQuotas", "What one has used of one's quotas", "runs", gate.QuotasRead)
	entry.Add(in, row, func(ctx context.Context, c *entry.Call, in *struct {
		User string `query:"user" doc:"Another user's name; admins only"`
	}) (used.Quotas, error) {
		of := c.Caller.Self()
		if in.User != "" {
			name, err := auth.ParseName(in.User)
			if err != nil {
				return used.Quotas{}, err
			}
			of = gate.Caller{Name: name}.Self()
		}
		return house.Quotas(ctx, c.As(), of)
	})
}
