// Package machines asks a server about its workers.
//
// # Limits
//
// What an answer means, and who may ask, is the server's to say.
package machines

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"paddock/internal/client"
	"paddock/internal/relay/anchors"
)

// A Worker is a machine that carries out runs.
type Worker struct {
	ID       string           `json:"id"`
	Name     string           `json:"name"`
	Labels   []string         `json:"labels"`
	Capacity int64            `json:"capacity"`
	Mode     string           `json:"mode"`
	Version  string           `json:"version,omitempty"`
	LastSeen *time.Time       `json:"last_seen,omitempty"`
	Created  *time.Time       `json:"created_at"`
	Journal  *anchors.Journal `json:"journal,omitempty"` // nil as long as it told nothing of it
}

// An AddedWorker has its credential, which is told once.
type AddedWorker struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Credential string `json:"credential"`
}

// List lists them, newest first.
func List(ctx context.Context, c *client.Client) ([]Worker, error) {
	all := map[string][]Worker{}
	err := c.Ask(ctx, http.MethodGet, "workers", nil, nil, &all)
	return all["workers"], err
}

// Add adds one by a name.
func Add(ctx context.Context, c *client.Client, name string) (made AddedWorker, err error) {
	err = c.Ask(ctx, http.MethodPost, "workers", nil, map[string]string{"name": name}, &made)
	return made, err
}

// Change says what work one takes: open, cordoned or draining.
func Change(ctx context.Context, c *client.Client, name, mode string) (w Worker, err error) {
	err = c.Ask(ctx, http.MethodPatch, "workers/"+url.PathEscape(name), nil, map[string]string{"mode": mode}, &w)
	return w, err
}

// Remove takes one away that has no runs.
func Remove(ctx context.Context, c *client.Client, name string) error {
	return c.Tell(ctx, http.MethodDelete, "workers/"+url.PathEscape(name), nil)
}
