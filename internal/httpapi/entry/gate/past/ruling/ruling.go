// Package ruling has the routes about policies of the past: when another one began to
// decide, and their texts.
//
// # Limits
//
// They are those of the state directory here. The journal is read anew for each request,
// for one caller at a time.
package ruling

import (
	"context"
	"errors"
	"net/http"
	"time"

	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/ruled"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/past"
)

// again is when to come back while the journal is read for somebody else.
const again = 2 * time.Second

type query struct {
	After int64 `query:"after" doc:"Only changes after this number; the next of the page before"`
	Limit int   `query:"limit" doc:"How many, from 1 to 1000; 50 if it is left out"`
}

type oneText struct {
	Digest string `path:"digest"`
}

// Routes adds the routes.
func Routes(in *entry.Entrance, open past.Opener) {
	busy := make(chan struct{}, 1)
	changes := entry.NewRow(http.MethodGet, "policy/changes", "listPolicyChanges", "Which policy decided from when on, oldest first", "policy", gate.PolicyRead)
	entry.Add(in, changes, func(ctx context.Context, c *entry.Call, in *query) (ruled.Changes, error) {
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
		default:
			return ruled.Changes{}, entry.TooMany(again)
		}
		return with(c, open, func(e *evidence.Evidence) (ruled.Changes, error) { return ruled.List(ctx, e, in.After, in.Limit) })
	})
	text := entry.NewRow(http.MethodGet, "policy/texts/{digest}", "getPolicyText", "A policy's text, by its digest", "policy", gate.PolicyRead)
	entry.Add(in, text, func(_ context.Context, c *entry.Call, in *oneText) (ruled.Text, error) {
		return with(c, open, func(e *evidence.Evidence) (ruled.Text, error) { return ruled.Read(e, in.Digest) })
	})
}

// with opens the evidence for whoever asks.
func with[T any](c *entry.Call, open past.Opener, f func(*evidence.Evidence) (T, error)) (T, error) {
	e, err := open(c.As())
	if err != nil {
		var none T
		return none, err
	}
	found, err := f(e)
	return found, errors.Join(err, e.Close())
}
