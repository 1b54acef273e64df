package client

import (
	"context"
	"net/http"
	"time"

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

// Workers lists them, newest first.
func (c *Client) Workers(ctx context.Context) ([]Worker, error) {
	all := map[string][]Worker{}
	err := c.Ask(ctx, http.MethodGet, "workers", nil, nil, &all)
	return all["workers"], err
}

// AddWorker adds one by a name.
func (c *Client) AddWorker(ctx context.Context, name string) (made AddedWorker, err error) {
	err = c.Ask(ctx, http.MethodPost, "workers", nil, map[string]string{"name": name}, &made)
	return made, err
}

// ChangeWorker says what work one takes: open, cordoned or draining.
func (c *Client) ChangeWorker(ctx context.Context, name, mode string) (w Worker, err error) {
	err = c.Ask(ctx, http.MethodPatch, "workers/"+inPath(name), nil, map[string]string{"mode": mode}, &w)
	return w, err
}

// RemoveWorker takes one away that has no runs.
func (c *Client) RemoveWorker(ctx context.Context, name string) error {
	return c.Tell(ctx, http.MethodDelete, "workers/"+inPath(name), nil)
}
