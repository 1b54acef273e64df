// Package workers has the routes by which workers are seen, added, and told what work to
// take.
//
// # Limits
//
// What a worker may do stands in its own configuration and in the rights of its database
// user. To be added here only gives it a place in the queue.
package workers

import (
	"context"
	"errors"
	"net/http"
	"time"

	"paddock"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/store"
)

// A Worker is a machine that carries out runs, as it is shown.
type Worker struct {
	ID       store.WorkerID `json:"id"`
	Name     string         `json:"name"`
	Labels   []string       `json:"labels"`
	Capacity int64          `json:"capacity"`
	Mode     store.Mode     `json:"mode"`
	Version  string         `json:"version,omitempty"`
	// LastSeen is when it said last that it is there, by its own clock.
	LastSeen  *time.Time `json:"last_seen,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
}

// Listing is a page of workers, newest first.
type Listing struct {
	Workers []Worker `json:"workers"`
}

// A Change says what work a worker is to take: open, cordoned or draining.
type Change struct {
	Mode store.Mode `json:"mode"`
}

func shown(w store.Worker) Worker {
	v := Worker{ID: w.ID, Name: w.Name, Labels: append([]string{}, w.Labels...), Capacity: w.Capacity, Mode: w.Mode, Version: w.Version, CreatedAt: w.Created.Time}
	if !w.LastSeen.IsZero() {
		v.LastSeen = &w.LastSeen.Time
	}
	return v
}

func missing() error { return paddock.Refused(paddock.NotFound, "There is no such worker.") }

type oneWorker struct {
	ID string `path:"id"`
}

// Routes adds the routes to a server's.
func Routes(in *entry.Entrance, s store.Workers, now func() time.Time) {
	entry.Add(in, entry.NewRow(http.MethodGet, "workers", "listWorkers", "List the machines that carry out runs", "workers", gate.WorkersRead),
		func(ctx context.Context, _ *entry.Call, _ *entry.Nothing) (Listing, error) {
			page, err := s.Workers(ctx, store.Cursor{}, store.MostPage)
			l := Listing{Workers: []Worker{}}
			for _, w := range page.Items {
				l.Workers = append(l.Workers, shown(w))
			}
			return l, err
		})
	entry.Add(in, entry.NewRow(http.MethodPatch, "workers/{id}", "changeWorker", "Say what work a worker takes: open, cordoned for no new runs, or draining to end when it has none left", "workers", gate.WorkersChange),
		func(ctx context.Context, _ *entry.Call, in *struct {
			oneWorker
			Body Change `body:""`
		}) (Worker, error) {
			return changed(ctx, s, store.WorkerID(in.ID), in.Body.Mode)
		})
}

func changed(ctx context.Context, s store.Workers, id store.WorkerID, m store.Mode) (Worker, error) {
	switch m {
	case store.Open, store.Cordoned, store.Draining:
	default:
		return Worker{}, paddock.Refused(paddock.InvalidRequest, "mode is %.20q; it is open, cordoned or draining.", m)
	}
	err := s.SetWorkerMode(ctx, id, m)
	var w store.Worker
	if err == nil {
		w, err = s.Worker(ctx, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = missing()
	}
	return shown(w), err
}
