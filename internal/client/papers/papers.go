// Package papers asks a server for what it vouches for: statements about runs.
//
// # Limits
//
// Nothing is checked here: a statement is for who has the server's public key.
package papers

import (
	"context"
	"net/http"
	"net/url"

	"paddock"
	"paddock/internal/client"
	"paddock/internal/journal/sign"
)

// Statement is about a run that has ended, signed by the server.
func Statement(ctx context.Context, c *client.Client, id paddock.RunID) (e sign.Envelope, err error) {
	err = c.Ask(ctx, http.MethodGet, "runs/"+url.PathEscape(string(id))+"/statement", nil, nil, &e)
	return e, err
}
