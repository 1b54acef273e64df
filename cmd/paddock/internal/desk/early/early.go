// Package early is a server before it can be one: as long as its database is away it tries
// again, and says to who asks that it isn't ready yet.
//
// # Limits
//
// It waits for what is away ([store.ErrAway]); what is refused or wrong ends the server at
// once, since waiting changes nothing about it.
package early

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"paddock/internal/httpapi/entry/shield"
	"paddock/internal/httpapi/entry/shield/problem"
	"paddock/internal/httpapi/listen"
	"paddock/internal/store"
)

// How long is between two tries.
const (
	firstRest = 500 * time.Millisecond
	mostRest  = 10 * time.Second
)

// A Config says how to wait.
type Config struct {
	// Wait is how long at most; 0 doesn't wait.
	Wait time.Duration
	// Listener is where requests come in. It is still open afterwards.
	Listener net.Listener
	Serve    listen.Options // Handler and Ending are ours
	Shield   shield.Config
	// Tell is told at each try for how long the next one isn't there, and Warn the first
	// time why.
	Tell func(next time.Duration)
	Warn func(error)
}

// Open opens a store, as soon as its database is there. When ctx ends meanwhile its error
// is returned.
func Open[T any](ctx context.Context, c Config, open func(context.Context) (T, error)) (T, error) {
	got, err := open(ctx)
	if !errors.Is(err, store.ErrAway) || c.Wait <= 0 || ctx.Err() != nil {
		return got, err
	}
	c.Warn(fmt.Errorf("%w; it is tried again for %s", err, c.Wait))
	end, trouble := c.stand(ctx)
	if trouble != nil {
		return got, trouble
	}
	limited, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	for rest := firstRest; ; rest = min(2*rest, mostRest) {
		c.Tell(rest)
		t := time.NewTimer(rest)
		select {
		case <-limited.Done():
		case <-t.C:
			got, err = open(limited)
		}
		t.Stop()
		switch {
		case ctx.Err() != nil:
			err = errors.Join(ctx.Err(), err) // was asked to end
		case limited.Err() != nil && err != nil:
			err = fmt.Errorf("%w, and was for %s", err, c.Wait)
		case errors.Is(err, store.ErrAway):
			continue
		}
		return got, errors.Join(err, end())
	}
}

// Unless is err, but nil where ctx ended while the database was away: that was asked for.
func Unless(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// stand answers that nothing is ready, until end.
func (c Config) stand(ctx context.Context) (end func() error, err error) {
	l, ok := c.Listener.(deadlined)
	if !ok {
		return func() error { return nil }, nil // who asks waits
	}
	s, err := shield.New(c.Shield)
	if err != nil {
		return nil, err
	}
	opt := c.Serve
	opt.Handler, opt.Ending = s.Wrap(http.HandlerFunc(answer)), func() {}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- listen.Serve(ctx, &lent{deadlined: l, closed: make(chan struct{})}, opt) }()
	return func() error {
		cancel()
		return errors.Join(<-done, l.SetDeadline(time.Time{}))
	}, nil
}

// answer says how we are, which is alive.
func answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "5")
	if r.Method == http.MethodGet && (r.URL.Path == "/livez" || r.URL.Path == "/readyz") {
		note := shield.NoteOf(r.Context())
		note.Route = r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/livez" {
			_, _ = w.Write([]byte("{\"ok\":true}\n")) // who asked is gone then
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("{\"ok\":false}\n")) // the same
		return
	}
	problem.With(http.StatusServiceUnavailable, "The server has begun, and waits for its database.").Write(w)
}

// A deadlined listener can be called back from waiting.
type deadlined interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// A lent listener is no longer used once it is closed, and isn't closed.
type lent struct {
	deadlined
	once   sync.Once
	closed chan struct{}
}

// Accept returns net.ErrClosed after Close.
func (l *lent) Accept() (net.Conn, error) {
	c, err := l.deadlined.Accept()
	select {
	case <-l.closed:
		if err == nil {
			return c, nil // it came just before, and is answered
		}
		return nil, net.ErrClosed
	default:
		return c, err
	}
}

// Close calls who waits in Accept back.
func (l *lent) Close() error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = l.SetDeadline(time.Unix(1, 0))
	})
	return err
}
