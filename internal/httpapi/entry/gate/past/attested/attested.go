// Package attested has the route by which whoever may see a run gets a signed statement
// about it, which others can check without believing the server's word.
//
// # Limits
//
// It is signed with the key beside the journal of the machine that carried the run out: of
// the state directory here, or of a worker that is connected. The journal and the run's output are read anew for
// each, for one caller at a time.
package attested

import (
	"context"
	"errors"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/app/evidence"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/journal/sign"
)

// again is when to come back while somebody else's statement is made.
const again = 5 * time.Second

// A House knows runs as whoever asks sees them.
type House interface {
	Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
}

// Config says what the route works with.
type Config struct {
	// Seen is the house as far as a caller's credential is for it.
	Seen func(context.Context, gate.Caller) (House, error)
	// Open opens the evidence of the state directory in the server's own name: that the
	// caller may see the run has been asked then.
	Open func() (*evidence.Evidence, error)
	// Elsewhere has the machine attest a run that carried it out, for somebody who may see
	// it; nil where no other machine carries runs out.
	Elsewhere func(ctx context.Context, p paddock.Principal, id paddock.RunID) (sign.Envelope, error)
}

type oneRun struct {
	ID string `path:"id"`
}

// Routes adds the route.
func Routes(in *entry.Entrance, cfg Config) {
	busy := make(chan struct{}, 1)
	row := entry.NewRow(http.MethodGet, "runs/{id}/statement", "getStatement", "A signed in-toto statement about a run that has ended, in a DSSE envelope", "runs", gate.RunsRead)
	entry.Add(in, row, func(ctx context.Context, c *entry.Call, in *oneRun) (sign.Envelope, error) {
		id, err := paddock.ParseRunID(in.ID)
		if err != nil {
			return sign.Envelope{}, paddock.Refused(paddock.NotFound, "There is no such run among those that you may see.")
		}
		c.Note().Run = id
		house, err := cfg.Seen(ctx, c.Caller)
		if err != nil {
			return sign.Envelope{}, err
		}
		run, err := house.Look(ctx, c.As(), id)
		if err != nil {
			return sign.Envelope{}, err
		}
		if !run.State.Settled() {
			r := paddock.Refused(paddock.Conflict, "Run %s goes on: there is nothing to attest before its end.", id)
			r.Hint = "Wait for its end, then ask again."
			return sign.Envelope{}, r
		}
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
			return attest(ctx, cfg, c.As(), id)
		default:
			return sign.Envelope{}, entry.TooMany(again)
		}
	})
}

// attest makes the statement about a settled run that the caller may see, or has the
// machine make it that carried the run out.
func attest(ctx context.Context, cfg Config, p paddock.Principal, id paddock.RunID) (sign.Envelope, error) {
	here, err := has(cfg, id)
	if err != nil {
		return sign.Envelope{}, err
	}
	if here {
		return evidence.Stated(ctx, cfg.Open, id)
	}
	if cfg.Elsewhere != nil {
		return cfg.Elsewhere(ctx, p, id)
	}
	return sign.Envelope{}, Nowhere(id)
}

// Nowhere says that no machine that can be asked has the record of a run.
func Nowhere(id paddock.RunID) error {
	r := paddock.Refused(paddock.Conflict, "The record of run %s isn't in the state directory of this server, so nothing here can attest it: another machine carried it out, or it was removed.", id)
	r.Hint = "On the machine that carried it out: paddock audit export --run " + string(id) + "."
	return r
}

func has(cfg Config, id paddock.RunID) (here bool, err error) {
	e, err := cfg.Open()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Has(id)
}
