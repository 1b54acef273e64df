// Package papers asks a server for what it vouches for and what it remembers: statements about
// runs, policies of the past, and who has used it.
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
	"time"

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

// A Principal is somebody or something that had something run, or has an account.
type Principal struct {
	ID      string                `json:"id"`
	Kind    paddock.PrincipalKind `json:"kind"`
	Account *struct {
		ID       string     `json:"id"`
		Role     string     `json:"role"`
		Disabled bool       `json:"disabled,omitempty"`
		LastSeen *time.Time `json:"last_seen_at,omitempty"`
	} `json:"account,omitempty"`
	LastRun   paddock.RunID `json:"last_run,omitempty"`
	LastRunAt *time.Time    `json:"last_run_at,omitempty"`
}

// Principals is a page of them, the latest first.
type Principals struct {
	Principals []Principal `json:"principals"`
	Next       string      `json:"next,omitempty"`
}

// Active are those who had something run, the latest first, and then accounts that never
// had; cursor is the next of the page before.
func Active(ctx context.Context, c *client.Client, cursor string, limit int) (page Principals, err error) {
	query := map[string][]string{"limit": {strconv.Itoa(limit)}}
	if cursor != "" {
		query["cursor"] = []string{cursor}
	}
	err = c.Ask(ctx, http.MethodGet, "principals", query, nil, &page)
	return page, err
}
