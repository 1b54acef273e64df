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
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
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

// An Added worker comes with what it proves itself by to servers that it connects to.
type Added struct {
	Worker
	// Credential is shown once.
	Credential string `json:"credential"`
}

// Listing is a page of workers, newest first.
type Listing struct {
	Workers []Worker `json:"workers"`
}

// A NewWorker is what an admin says of a worker to be.
type NewWorker struct {
	// Name is for people: a line of at most 200 bytes, unlike those of other workers.
	Name string `json:"name"`
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
	add := entry.NewRow(http.MethodPost, "workers", "addWorker", "Add a worker; its credential is shown once", "workers", gate.WorkersChange)
	add.Status = http.StatusCreated
	entry.Add(in, add, func(ctx context.Context, _ *entry.Call, in *struct {
		Body NewWorker `body:""`
	}) (Added, error) {
		return added(ctx, s, in.Body, now())
	})
	entry.Add(in, entry.NewRow(http.MethodPatch, "workers/{id}", "changeWorker", "Say what work a worker takes: open, cordoned for no new runs, or draining to end when it has none left", "workers", gate.WorkersChange),
		func(ctx context.Context, _ *entry.Call, in *struct {
			oneWorker
			Body Change `body:""`
		}) (Worker, error) {
			return changed(ctx, s, store.WorkerID(in.ID), in.Body.Mode)
		})
	entry.Add(in, entry.NewRow(http.MethodDelete, "workers/{id}", "removeWorker", "Remove a worker that has no runs", "workers", gate.WorkersChange),
		func(ctx context.Context, _ *entry.Call, in *oneWorker) (entry.Nothing, error) {
			err := s.RemoveWorker(ctx, store.WorkerID(in.ID), store.At(now()))
			switch {
			case errors.Is(err, store.ErrNotFound):
				err = missing()
			case errors.Is(err, store.ErrStale):
				r := paddock.Refused(paddock.Conflict, "The worker has runs.")
				r.Hint = "Drain it, and remove it when its runs are over."
				err = r
			}
			return entry.Nothing{}, err
		})
}

func added(ctx context.Context, s store.Workers, n NewWorker, now time.Time) (Added, error) {
	if n.Name == "" || len(n.Name) > store.MostName || strings.TrimSpace(n.Name) != n.Name || strings.ContainsFunc(n.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return Added{}, paddock.Refused(paddock.InvalidRequest, "name is %.80q; it is a line of at most %d bytes.", n.Name, store.MostName)
	}
	var id [12]byte
	_, _ = rand.Read(id[:]) // it never fails
	credential := "pdw_" + rand.Text() + rand.Text()
	w := store.Worker{ID: store.WorkerID("w-" + hex.EncodeToString(id[:])), Name: n.Name, Credential: sha256.Sum256([]byte(credential)), Mode: store.Open, Created: store.At(now)}
	switch err := s.AddWorker(ctx, w); {
	case errors.Is(err, store.ErrExists):
		return Added{}, paddock.Refused(paddock.Conflict, "There is a worker %.80q already.", n.Name)
	case errors.Is(err, store.ErrInvalid):
		return Added{}, paddock.Refused(paddock.InvalidRequest, "The worker can't be added: %v.", err)
	case err != nil:
		return Added{}, err
	}
	return Added{shown(w), credential}, nil
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
