// Package machines is how workers come to a server: an admin adds one and gets its
// credential, by which it connects.
//
// # Limits
//
// It hands out no work and knows no runs: what a worker carries out is the queue's, and
// what is asked of it over its connection is package relay's. A connection that another
// server has of a worker that was removed ends when that server does; by it nobody gets
// anything from the server.
package machines

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"paddock"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/lease/order"
	"paddock/internal/relay"
	"paddock/internal/relay/anchors"
	"paddock/internal/store"
)

// Bounds of what a worker says it is.
const (
	mostLabels   = 16
	mostCapacity = 10_000
)

// Store is what is needed of the store.
type Store interface {
	AddWorker(ctx context.Context, w store.Worker) error
	WorkerByCredential(ctx context.Context, credential store.Hash) (store.Worker, error)
	Workers(ctx context.Context, after store.Cursor, most int) (store.Page[store.Worker], error)
	RemoveWorker(ctx context.Context, id store.WorkerID, now store.Moment) error
	SetWorkerMode(ctx context.Context, id store.WorkerID, m store.Mode) error
}

// Heads knows how far workers' journals have come. *anchors.Keeper does.
type Heads interface {
	Shown(worker string) *anchors.Journal
}

// Config is what Machines work with; all of it must be set.
type Config struct {
	Store    Store
	Hub      *relay.Hub
	Heads    Heads
	Recorder auth.Recorder
	Now      func() time.Time
}

// Machines adds, removes and takes in workers.
type Machines struct{ Config }

// New returns Machines.
func New(c Config) *Machines { return &Machines{c} }

// A NewWorker is one to be added.
type NewWorker struct {
	Name string `json:"name"`
	// Labels are what runs can need of it, Capacity how many it carries out at once.
	Labels   []string `json:"labels,omitempty"`
	Capacity int64    `json:"capacity,omitempty"`
}

// Added is a worker with its credential, which is told once.
type Added struct {
	ID         store.WorkerID `json:"id"`
	Name       string         `json:"name"`
	Labels     []string       `json:"labels,omitempty"`
	Capacity   int64          `json:"capacity"`
	Credential string         `json:"credential"`
}

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
	// Journal is what this server knows of its journal; nothing as long as it told nothing.
	Journal *anchors.Journal `json:"journal,omitempty"`
}

// shown is w, with what is known of its journal.
func (m *Machines) shown(w store.Worker) Worker {
	v := shown(w)
	v.Journal = m.Heads.Shown(string(w.ID))
	return v
}

// Listing is who there is, newest first.
type Listing struct {
	Workers []Worker `json:"workers"`
}

// A Change says what work a worker is to take: open, cordoned or draining.
type Change struct {
	Mode store.Mode `json:"mode"`
}

// said are the labels that somebody gave a worker; by others it says whom it follows.
func said(labels []string) []string {
	return slices.DeleteFunc(append([]string{}, labels...), func(l string) bool { return strings.HasPrefix(l, order.SignedBy) })
}

func shown(w store.Worker) Worker {
	v := Worker{ID: w.ID, Name: w.Name, Labels: said(w.Labels), Capacity: w.Capacity, Mode: w.Mode, Version: w.Version, CreatedAt: w.Created.Time}
	if !w.LastSeen.IsZero() {
		v.LastSeen = &w.LastSeen.Time
	}
	return v
}

type one struct {
	ID string `path:"id"`
}

// Routes adds the routes. A worker is said by its id or its name.
func (m *Machines) Routes(in *entry.Entrance) {
	connect := entry.NewRow(http.MethodGet, strings.TrimPrefix(relay.Path, "/api/v1/"), "connectWorker", "A worker's connection, by its own credential: an upgrade to "+relay.Protocol, "workers", gate.Connect)
	connect.Media, connect.Status = "application/octet-stream", http.StatusSwitchingProtocols
	in.Route(connect, m.connect)
	add := entry.NewRow(http.MethodPost, "workers", "addWorker", "Add a worker; its credential is told once", "workers", gate.WorkersChange)
	add.Status = http.StatusCreated
	entry.Add(in, add, func(ctx context.Context, c *entry.Call, in *struct {
		Body NewWorker `body:""`
	}) (Added, error) {
		return m.add(ctx, c.Caller.Who, in.Body)
	})
	entry.Add(in, entry.NewRow(http.MethodDelete, "workers/{id}", "removeWorker", "Take away a worker that has no runs", "workers", gate.WorkersChange), func(ctx context.Context, c *entry.Call, in *one) (entry.Nothing, error) {
		return entry.Nothing{}, m.remove(ctx, c.Caller.Who, in.ID)
	})
	entry.Add(in, entry.NewRow(http.MethodGet, "workers", "listWorkers", "List the machines that carry out runs", "workers", gate.WorkersRead), func(ctx context.Context, _ *entry.Call, _ *entry.Nothing) (Listing, error) {
		page, err := m.Store.Workers(ctx, store.Cursor{}, store.MostPage)
		l := Listing{Workers: []Worker{}}
		for _, w := range page.Items {
			l.Workers = append(l.Workers, m.shown(w))
		}
		return l, err
	})
	entry.Add(in, entry.NewRow(http.MethodPatch, "workers/{id}", "changeWorker", "Say what work a worker takes: open, cordoned for no new runs, or draining to end when it has none left", "workers", gate.WorkersChange), func(ctx context.Context, c *entry.Call, in *struct {
		one
		Body Change `body:""`
	}) (Worker, error) {
		return m.change(ctx, c.Caller.Who, in.ID, in.Body.Mode)
	})
}

// connect takes a worker in.
func (m *Machines) connect(c *entry.Call) error {
	if err := relay.Upgrades(c.Request); err != nil {
		return err
	}
	w, err := m.whose(c.Context(), c.Request)
	if err != nil {
		return err
	}
	note := c.Note()
	note.Name = "worker:" + w.Name
	err = m.Hub.Accept(c.ResponseWriter, c.Request, string(w.ID))
	var refusal *paddock.Refusal
	if err == nil || errors.As(err, &refusal) {
		if err == nil {
			note.Status = http.StatusSwitchingProtocols
		}
		return err
	}
	note.Status, note.Fault = http.StatusSwitchingProtocols, err // nobody can be told any more
	return nil
}

// whose is the worker whose credential r shows.
func (m *Machines) whose(ctx context.Context, r *http.Request) (store.Worker, error) {
	bad := paddock.Refused(paddock.Unauthenticated, "This is no worker's credential, or the worker was removed.")
	bad.Hint = "An admin adds the worker (POST /api/v1/workers) and puts the token where the worker reads it."
	header := r.Header.Values("Authorization")
	if len(header) != 1 || r.Header.Get("Cookie") != "" {
		return store.Worker{}, bad
	}
	scheme, word, _ := strings.Cut(header[0], " ")
	hash, err := auth.DigestOf(auth.WorkerWord, word)
	if err != nil || !strings.EqualFold(scheme, "Bearer") {
		return store.Worker{}, bad
	}
	w, err := m.Store.WorkerByCredential(ctx, hash)
	if errors.Is(err, store.ErrNotFound) || err == nil && !w.Removed.IsZero() {
		return store.Worker{}, bad
	}
	return w, err
}

func (m *Machines) add(ctx context.Context, by auth.Who, n NewWorker) (Added, error) {
	if err := by.May(auth.WorkersChange, auth.Foreign); err != nil {
		return Added{}, err
	}
	if by.Token != "" { // it would have a successor that outlives it
		r := paddock.Refused(paddock.Forbidden, "No API token makes a credential, and adding a worker makes one.")
		r.Hint = "Log in, or use the operator's token, of token_file."
		return Added{}, r
	}
	if _, err := auth.ParseName(n.Name); err != nil {
		return Added{}, err
	}
	if n.Capacity == 0 {
		n.Capacity = 1
	}
	if n.Capacity < 1 || n.Capacity > mostCapacity || len(n.Labels) > mostLabels {
		return Added{}, paddock.Refused(paddock.InvalidRequest, "A worker has a capacity from 1 to %d and at most %d labels.", mostCapacity, mostLabels)
	}
	for _, l := range n.Labels {
		if _, err := auth.ParseName(l); err != nil {
			return Added{}, err
		}
	}
	if _, err := m.named(ctx, n.Name); err == nil {
		return Added{}, paddock.Refused(paddock.Conflict, "There is a worker called %s.", n.Name)
	} else if !errors.Is(err, store.ErrNotFound) {
		return Added{}, err
	}
	now := store.At(m.Now())
	id, err := store.NewID[store.WorkerID]('k', now.Time, nil)
	if err != nil {
		return Added{}, err
	}
	word, err := auth.NewWord(auth.WorkerWord, nil)
	if err != nil {
		return Added{}, err
	}
	hash, err := auth.DigestOf(auth.WorkerWord, word)
	if err != nil {
		return Added{}, err
	}
	if err := m.record(ctx, by, auth.WorkerAdded, id); err != nil {
		return Added{}, err
	}
	labels := slices.Compact(slices.Sorted(slices.Values(n.Labels)))
	err = m.Store.AddWorker(ctx, store.Worker{ID: id, Name: n.Name, Credential: hash, Labels: labels, Capacity: n.Capacity, Mode: store.Open, Created: now})
	if errors.Is(err, store.ErrExists) {
		return Added{}, paddock.Refused(paddock.Conflict, "There is a worker called %s.", n.Name)
	}
	return Added{id, n.Name, labels, n.Capacity, word}, err
}

func (m *Machines) change(ctx context.Context, by auth.Who, name string, mode store.Mode) (Worker, error) {
	if err := by.May(auth.WorkersChange, auth.Foreign); err != nil {
		return Worker{}, err
	}
	switch mode {
	case store.Open, store.Cordoned, store.Draining:
	default:
		return Worker{}, paddock.Refused(paddock.InvalidRequest, "mode is %.20q; it is open, cordoned or draining.", mode)
	}
	w, err := m.named(ctx, name)
	if err == nil {
		err = m.record(ctx, by, auth.WorkerChanged, w.ID)
	}
	if err == nil {
		err = m.Store.SetWorkerMode(ctx, w.ID, mode)
	}
	if errors.Is(err, store.ErrNotFound) {
		return Worker{}, missing()
	}
	w.Mode = mode
	return m.shown(w), err
}

func missing() error {
	r := paddock.Refused(paddock.NotFound, "There is no such worker.")
	r.Hint = "paddock workers list, or GET /api/v1/workers, has them all."
	return r
}

func (m *Machines) remove(ctx context.Context, by auth.Who, name string) error {
	if err := by.May(auth.WorkersChange, auth.Foreign); err != nil {
		return err
	}
	w, err := m.named(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return missing()
	}
	if err == nil {
		err = m.record(ctx, by, auth.WorkerRemoved, w.ID)
	}
	if err == nil {
		err = m.Store.RemoveWorker(ctx, w.ID, store.At(m.Now()))
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return missing()
	case errors.Is(err, store.ErrStale):
		r := paddock.Refused(paddock.Conflict, "The worker has runs.")
		r.Hint = "Drain it first, then remove it when they have ended."
		return r
	}
	if err == nil {
		m.Hub.Drop(string(w.ID))
	}
	return err
}

func (m *Machines) record(ctx context.Context, by auth.Who, what auth.Action, id store.WorkerID) error {
	return m.Recorder.Record(ctx, auth.Event{What: what, By: by.User, Local: by.IsLocal(), Detail: string(id)})
}

// named finds a worker by its name or id; there are as many workers as there are machines.
func (m *Machines) named(ctx context.Context, name string) (store.Worker, error) {
	for at := (store.Cursor{}); ; {
		page, err := m.Store.Workers(ctx, at, store.MostPage)
		if err != nil {
			return store.Worker{}, err
		}
		for _, w := range page.Items {
			if w.Removed.IsZero() && (w.Name == name || string(w.ID) == name) {
				return w, nil
			}
		}
		if at = page.Next; !page.More {
			return store.Worker{}, store.ErrNotFound
		}
	}
}
