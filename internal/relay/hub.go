package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock"
	"paddock/internal/relay/asking"
	"paddock/internal/relay/wire"
	"paddock/internal/relay/wire/line"
)

// Patience is how long a question waits for a worker that isn't connected.
const Patience = 3 * time.Second

// A Hub has the connections of workers. Its methods may be called concurrently.
type Hub struct {
	patience time.Duration
	life     context.Context
	end      context.CancelFunc
	work     sync.WaitGroup

	gives atomic.Pointer[asking.Giver]

	mu      sync.Mutex
	links   map[string]*wire.Link // guarded by mu; the newest of each worker
	changed chan struct{}         // guarded by mu; closed when links change
}

// NewHub returns a Hub without connections, which keeps ctx's values but not its end.
// Questions wait for patience for a worker to come; zero means [Patience].
func NewHub(ctx context.Context, patience time.Duration) *Hub {
	if patience <= 0 {
		patience = Patience
	}
	h := &Hub{patience: patience, links: map[string]*wire.Link{}, changed: make(chan struct{})}
	h.life, h.end = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

// Close closes all connections. Workers come back to whoever is there then.
func (h *Hub) Close() {
	h.end()
	h.mu.Lock()
	for _, l := range h.links {
		_ = l.Close() // nothing is written to it any more
	}
	h.mu.Unlock()
	h.work.Wait()
}

// Gives has workers that come from now on asked what they want of g.
func (h *Hub) Gives(g *asking.Giver) { h.gives.Store(g) }

// Connected reports how many workers are.
func (h *Hub) Connected() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.links)
}

// Workers are those who are.
func (h *Hub) Workers() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.links))
}

// Has reports whether a worker is connected.
func (h *Hub) Has(worker string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.links[worker] != nil
}

// Upgrades refuses a request that doesn't ask for an upgrade to [Protocol].
func Upgrades(r *http.Request) error {
	if r.ProtoMajor != 1 || !strings.EqualFold(r.Header.Get("Upgrade"), Protocol) || !strings.Contains(strings.ToLower(r.Header.Get("Connection")), "upgrade") {
		return paddock.Refused(paddock.InvalidRequest, "A worker's connection is an upgrade of HTTP/1.1 to %s; this is none.", Protocol)
	}
	return nil
}

// Drop closes a worker's connection, if there is one.
func (h *Hub) Drop(worker string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.links[worker]; l != nil {
		_ = l.Close() // it isn't to be used any more
	}
}

// Accept makes the connection of a request that worker sent one of the hub's, in place of
// the one that it had before. Who calls has found out that it is the worker's. After an
// error of the kind *paddock.Refusal the request is still to be answered.
func (h *Hub) Accept(w http.ResponseWriter, r *http.Request, worker string) error {
	if h.life.Err() != nil {
		return paddock.Refused(paddock.Busy, "The server is closing.")
	}
	if err := Upgrades(r); err != nil {
		return err
	}
	conn, err := line.Upgrade(w, Protocol, wire.Greet)
	if err != nil {
		return fmt.Errorf("the connection of worker %s: %w", worker, err)
	}
	return h.add(r.Context(), worker, conn)
}

// add greets who is at the other end of a connection, and makes it the worker's.
func (h *Hub) add(ctx context.Context, worker string, conn *line.Line) error {
	l, err := wire.Open(ctx, h.life, conn)
	if err != nil {
		return fmt.Errorf("worker %s: %w", worker, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return conn.Close()
	}
	if before := h.links[worker]; before != nil {
		_ = before.Close() // what is asked over it is asked again over this one
	}
	h.set(worker, l)
	if g := h.gives.Load(); g != nil {
		h.work.Go(func() { h.give(g, worker, l) })
	}
	h.work.Go(func() {
		<-l.Over()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.links[worker] == l {
			h.set(worker, nil)
		}
	})
	return nil
}

// give asks a worker what it wants as long as the connection is there.
func (h *Hub) give(g *asking.Giver, worker string, l *wire.Link) {
	ctx, cancel := context.WithCancel(h.life)
	defer cancel()
	h.work.Go(func() {
		defer cancel()
		select {
		case <-l.Over():
		case <-ctx.Done():
		}
	})
	g.Serve(ctx, worker, func(ctx context.Context, q asking.Question) (w asking.Wants, err error) {
		body, err := json.Marshal(q)
		if err != nil {
			return w, err
		}
		limited, over := context.WithTimeout(ctx, wire.Ask+asking.Hold)
		defer over()
		text, err := l.Send(limited, http.MethodPost, wire.Prefix+wants, body)
		if err == nil {
			err = json.Unmarshal(text, &w)
		}
		return w, err
	})
}

// set is called with the lock.
func (h *Hub) set(worker string, l *wire.Link) {
	if l == nil {
		delete(h.links, worker)
	} else {
		h.links[worker] = l
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// linkOf returns the worker's connection, but not one that was found broken, and waits
// for one until ctx ends.
func (h *Hub) linkOf(ctx context.Context, worker string, broken *wire.Link) *wire.Link {
	for {
		h.mu.Lock()
		l, changed := h.links[worker], h.changed
		h.mu.Unlock()
		if l != nil && l != broken {
			return l
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		case <-h.life.Done():
			return nil
		}
	}
}
