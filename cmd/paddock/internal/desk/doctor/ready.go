package doctor

import (
	"context"
	"errors"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
	"paddock/internal/executor/stages"
	"paddock/internal/httpapi"
	"paddock/internal/policy"
)

// A House is what must be well for a server to be of use.
type House struct {
	// Idle says that it only queues: then it has no policy to judge by and starts
	// nothing, not even to see whether it could.
	Idle     bool
	Policy   func() (*policy.Policy, error)
	List     func(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
	Accounts func(ctx context.Context) error
}

// Ready returns what says how a server is, until life ends.
func Ready(life context.Context, d *desk.Desk, h House) func(context.Context) []httpapi.Check {
	tested := NewSelfTest(life, d)
	return func(ctx context.Context) []httpapi.Check {
		_, stateErr := h.List(ctx, d.Operator(), app.Filter{Limit: 1})
		var some *app.Unreadable
		if errors.As(stateErr, &some) {
			stateErr = nil // of some runs; the others are there
		}
		if h.Idle {
			return []httpapi.Check{check("state", stateErr), check("accounts", h.Accounts(ctx))}
		}
		p, policyErr := h.Policy()
		level := paddock.Full
		if policyErr == nil {
			level = p.Contain().Level
		}
		_, stageErr := stages.Find("")
		return []httpapi.Check{
			check("policy", policyErr), check("state", stateErr), check("accounts", h.Accounts(ctx)),
			check("executor", stageErr), check("isolation", tested.Holds(level)),
		}
	}
}

func check(name string, err error) httpapi.Check {
	if err != nil {
		return httpapi.Check{Name: name, Detail: err.Error()}
	}
	return httpapi.Check{Name: name, OK: true}
}
