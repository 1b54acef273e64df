package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/relay/ballot"
	"paddock/internal/relay/line"
)

// Patience is how long a question waits for a worker that isn't connected.
const Patience = 3 * time.Second

// A Hub has the connections of workers. Its methods may be called concurrently.
type Hub struct {
	patience time.Duration
	life     context.Context
	end      context.CancelFunc
	work     sync.WaitGroup

	mu      sync.Mutex
	links   map[string]*link // guarded by mu; the newest of each worker
	changed chan struct{}    // guarded by mu; closed when links change
}

// NewHub returns a Hub without connections, which keeps ctx's values but not its end.
// Questions wait for patience for a worker to come; zero means [Patience].
func NewHub(ctx context.Context, patience time.Duration) *Hub {
	if patience <= 0 {
		patience = Patience
	}
	h := &Hub{patience: patience, links: map[string]*link{}, changed: make(chan struct{})}
	h.life, h.end = context.WithCancel(context.WithoutCancel(ctx))
	return h
}

// Close closes all connections. Workers come back to whoever is there then.
func (h *Hub) Close() {
	h.end()
	h.mu.Lock()
	for _, l := range h.links {
		_ = l.conn.Close() // nothing is written to it any more
	}
	h.mu.Unlock()
	h.work.Wait()
}

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

// A link is one connection of a worker.
type link struct {
	conn *line.Line
	http *http.ClientConn
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
		_ = l.conn.Close() // it isn't to be used any more
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
	conn, err := line.Upgrade(w, Protocol, greetTime)
	if err != nil {
		return fmt.Errorf("the connection of worker %s: %w", worker, err)
	}
	return h.add(r.Context(), worker, conn)
}

// add greets who is at the other end of a connection, and makes it the worker's.
func (h *Hub) add(ctx context.Context, worker string, conn *line.Line) error {
	once := make(chan net.Conn, 1)
	once <- conn
	t := &http.Transport{
		Protocols: onlyHTTP2(), HTTP2: heartbeats(), DisableCompression: true, MaxResponseHeaderBytes: mostHeader,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return <-once, nil },
	}
	greet, cancel := context.WithTimeout(context.WithoutCancel(ctx), greetTime)
	defer cancel()
	asks, err := t.NewClientConn(greet, "http", "worker:80")
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	l := &link{conn, asks}
	stop := context.AfterFunc(h.life, func() { _ = conn.Close() })
	defer stop()
	if err := l.greet(greet); err != nil {
		return errors.Join(fmt.Errorf("worker %s doesn't answer: %w", worker, err), conn.Close())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return conn.Close()
	}
	if before := h.links[worker]; before != nil {
		_ = before.conn.Close() // what is asked over it is asked again over this one
	}
	h.set(worker, l)
	h.work.Go(func() {
		<-conn.Gone
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.links[worker] == l {
			h.set(worker, nil)
		}
	})
	return nil
}

// set is called with the lock.
func (h *Hub) set(worker string, l *link) {
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
func (h *Hub) linkOf(ctx context.Context, worker string, broken *link) *link {
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

// errBroken is of a connection, not of what was asked.
var errBroken = errors.New("the connection to the worker broke")

// greet asks the first question.
func (l *link) greet(ctx context.Context) error {
	_, err := l.send(ctx, http.MethodGet, prefix, nil)
	return err
}

// send asks once.
func (l *link) send(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://worker"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	a, err := l.http.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, mostAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	case len(text) > mostAnswer:
		return nil, errors.New("the worker's answer is too long")
	case a.StatusCode == http.StatusOK:
		return text, nil
	}
	var refusal paddock.Refusal
	if a.StatusCode == http.StatusUnprocessableEntity && json.Unmarshal(text, &refusal) == nil && refusal.Code != "" {
		return nil, &refusal
	}
	return nil, fmt.Errorf("the worker answers %d; its log says why", a.StatusCode)
}

// At is the house of a worker, connected or not.
func (h *Hub) At(worker string) House {
	r := remote{hub: h, worker: worker}
	r.Remote = ballot.Remote{Worker: worker, Ask: func(ctx context.Context, p paddock.Principal, verb string, q *ballot.Question, into any) error {
		return r.ask(ctx, verb, question{Principal: p, Approval: q}, askTime, 0, into)
	}}
	return r
}

// A remote is a house on another machine.
type remote struct {
	hub    *Hub
	worker string
	ballot.Remote
}

// ask asks until there is an answer: over the next connection if one breaks. more is how
// long the answer may be waited for on purpose.
func (r remote) ask(ctx context.Context, verb string, q question, takes, more time.Duration, into any) error {
	body, err := json.Marshal(q)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, takes+more)
	defer cancel()
	// Who waits for output anyway waits for the connection as long.
	patience, over := context.WithTimeout(limited, max(r.hub.patience, more))
	defer over()
	var broken *link
	for strikes := 0; ; {
		l := r.hub.linkOf(patience, r.worker, broken)
		if l == nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			return away(r.worker)
		}
		text, err := l.send(limited, http.MethodPost, prefix+verb, body)
		switch {
		case err == nil:
			if err := json.Unmarshal(text, into); err != nil {
				return fmt.Errorf("worker %s: %w", r.worker, err)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return away(r.worker)
		case !errors.Is(err, errBroken):
			return r.told(err)
		case l.gone():
			broken = l
		default: // the question broke, not the connection; that isn't tried for ever
			if strikes++; strikes > 2 {
				return r.told(err)
			}
		}
	}
}

// gone reports whether the connection is over, and sees to it that nobody gets it then.
// One that is about to end is given a moment to.
func (l *link) gone() bool {
	soon := time.NewTimer(20 * time.Millisecond)
	defer soon.Stop()
	select {
	case <-l.conn.Gone:
	case <-soon.C:
		if l.http.Err() == nil {
			return false
		}
	}
	_ = l.conn.Close() // of no use to anybody
	return true
}

// told is what the worker said, or what is wrong with it.
func (r remote) told(err error) error {
	var refusal *paddock.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return fmt.Errorf("worker %s: %w", r.worker, err)
}

func (r remote) run(ctx context.Context, verb string, q question, takes, more time.Duration) (paddock.Run, error) {
	var run paddock.Run
	if err := r.ask(ctx, verb, q, takes, more, &run); err != nil {
		return paddock.Run{}, err
	}
	if run.ID != q.Run {
		return paddock.Run{}, fmt.Errorf("worker %s was asked for run %s and answers with another", r.worker, q.Run)
	}
	return run, nil
}

func (r remote) Look(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return r.run(ctx, look, question{Principal: p, Run: id}, askTime, 0)
}

func (r remote) Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error) {
	return r.run(ctx, status, question{Principal: p, Run: id}, askTime, 0)
}

// Wait waits in pieces, so that no question is open for long.
func (r remote) Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, d time.Duration) (paddock.Run, error) {
	if d < 0 {
		return paddock.Run{}, paddock.Refused(paddock.InvalidRequest, "The time to wait is negative.")
	}
	for left := d; ; {
		one := paddock.MaxWait
		if d > 0 {
			one = min(one, left)
		}
		run, err := r.run(ctx, wait, question{Principal: p, Run: id, Wait: paddock.Duration(one)}, askTime, one)
		if left -= one; err != nil || run.State.Settled() || d > 0 && left <= 0 {
			return run, err
		}
	}
}

func (r remote) Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (page paddock.Page, err error) {
	if req.Unmasked {
		return page, paddock.Refused(paddock.Forbidden, "What is hidden of secrets is shown to no server.")
	}
	err = r.ask(ctx, output, question{Principal: p, Run: id, Page: &req}, askTime, min(paddock.MaxWait, max(0, time.Duration(req.Wait))), &page)
	return page, err
}

func (r remote) Detail(ctx context.Context, p paddock.Principal, id paddock.RunID) (d app.Detail, err error) {
	if err = r.ask(ctx, detail, question{Principal: p, Run: id}, askTime, 0, &d); err == nil && d.Run.ID != id {
		err = fmt.Errorf("worker %s was asked for run %s and answers with another", r.worker, id)
	}
	return d, err
}

func (r remote) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	return r.run(ctx, kill, question{Principal: p, Run: id, Kill: &req}, killTime, 0)
}

// Type may be asked twice, as everything here: what is typed is numbered, and done once.
func (r remote) Type(ctx context.Context, p paddock.Principal, id paddock.RunID, t paddock.Typing) error {
	var done struct{}
	return r.ask(ctx, types, question{Principal: p, Run: id, Typing: &t}, askTime, 0, &done)
}
