// Package trees asks a server about the worktrees of a workspace.
//
// # Limits
//
// What an answer means, and who may ask, is the server's to say.
package trees

import (
	"context"
	"net/http"
	"net/url"

	"paddock/internal/client"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

// List lists those of a workspace.
func List(ctx context.Context, c *client.Client, workspace string) (l worktree.Listing, err error) {
	err = c.Ask(ctx, http.MethodGet, "workspaces/"+url.PathEscape(workspace)+"/worktrees", nil, nil, &l)
	return l, err
}

// Tidy removes those that were made for runs that are over.
func Tidy(ctx context.Context, c *client.Client, workspace string, choice worktree.Choice) (t worktree.Tidied, err error) {
	err = c.Ask(ctx, http.MethodPost, "workspaces/"+url.PathEscape(workspace)+"/worktrees/tidy", nil, choice, &t)
	return t, err
}

// Remove removes one with all that is in it.
func Remove(ctx context.Context, c *client.Client, workspace, into string) error {
	return c.Tell(ctx, http.MethodDelete, "workspaces/"+url.PathEscape(workspace)+"/"+url.PathEscape(into), nil)
}
