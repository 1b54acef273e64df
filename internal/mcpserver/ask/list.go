package ask

import (
	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
	"paddock/internal/app"
)

// mostListed bounds one listing.
const mostListed = 200

// List is the input of command_list.
type List struct {
	Active bool   `json:"active,omitzero" jsonschema:"only tasks that have not ended"`
	Limit  *int64 `json:"limit,omitzero" jsonschema:"most tasks in this answer; 50 unless given"`
	Before string `json:"before,omitzero" jsonschema:"only tasks made before this one: next of the answer before"`
}

func (List) Bounds(p map[string]*jsonschema.Schema) { within(p["limit"], 1, mostListed) }

func (in List) Check() error {
	if n := in.Limit; n != nil && (*n < 1 || *n > mostListed) {
		return invalid("limit is %d; want 1 to %d", *n, mostListed)
	}
	if in.Before != "" {
		if _, err := paddock.ParseRunID(in.Before); err != nil {
			return invalid("before is %q; want the next of the answer before", shortened(in.Before, 64))
		}
	}
	return nil
}

// Filter returns what is to be listed.
func (in List) Filter() app.Filter {
	return app.Filter{Active: in.Active, Limit: int(orZero(in.Limit)), Before: paddock.RunID(in.Before)}
}
