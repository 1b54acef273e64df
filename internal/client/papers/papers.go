// Package papers asks a server for what it vouches for and what it remembers: statements about
// runs, and policies of the past.
//
// # Limits
//
// Nothing is checked here: a statement is for who has the server's public key.
package papers

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"paddock"
	"paddock/internal/app/evidence/ruled"
	"paddock/internal/client"
	"paddock/internal/journal/sign"
)

// Statement is about a run that has ended, signed by the server.
func Statement(ctx context.Context, c *client.Client, id paddock.RunID) (e sign.Envelope, err error) {
	err = c.Ask(ctx, http.MethodGet, "runs/"+url.PathEscape(string(id))+"/statement", nil, nil, &e)
	return e, err
}

// Changes are a page of the policies that decided, oldest first.
func Changes(ctx context.Context, c *client.Client, after int64, limit int) (page ruled.Changes, err error) {
	query := map[string][]string{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(limit)}}
	err = c.Ask(ctx, http.MethodGet, "policy/changes", query, nil, &page)
	return page, err
}

// Text is the policy of a digest.
func Text(ctx context.Context, c *client.Client, digest string) (t ruled.Text, err error) {
	err = c.Ask(ctx, http.MethodGet, "policy/texts/"+url.PathEscape(digest), nil, nil, &t)
	return t, err
}
