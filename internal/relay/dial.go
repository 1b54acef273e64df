package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"paddock"
	"paddock/internal/journal/sign"
	"paddock/internal/relay/asking"
	"paddock/internal/relay/outward"
	"paddock/internal/relay/wire"
	"paddock/internal/relay/wire/line"
)

// How long to wait before the next try.
const (
	firstWait = 100 * time.Millisecond
	mostWait  = 15 * time.Second
	// steady is how long a connection must have lasted for the next try to come soon.
	steady = 30 * time.Second
)

// Config says whom a worker connects to and what it shows.
type Config struct {
	// Server is its address, as https://paddock.example.org.
	Server string
	// Token is the worker's credential.
	Token string
	House House
	// Head tells how far the worker's journal has come since it had from entries; nil
	// tells nothing. What it returns becomes JSON.
	Head func(ctx context.Context, from int64) (any, error)
	// Attest makes a signed statement about a run that has ended; nil makes none.
	Attest func(ctx context.Context, id paddock.RunID) (sign.Envelope, error)
	// Desk has what the worker wants of servers; nil wants nothing.
	Desk *asking.Desk
	// TLS may name other authorities than the system's; nil means those.
	TLS *tls.Config
	Log *slog.Logger
	Now func() time.Time
	// Pause waits; nil means for the time that it is told.
	Pause func(ctx context.Context, d time.Duration) error
}

// Serve keeps a connection to the server and answers over it, until ctx ends. It returns
// an error at once if the configuration can't be right, and none at the end.
func Serve(ctx context.Context, c Config) error {
	u, err := outward.Address(c.Server)
	if err != nil {
		return err
	}
	if c.Token == "" || strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the worker's token is missing, or has characters that no token has")
	}
	if c.Pause == nil {
		c.Pause = pause
	}
	d := &dialer{Config: c, url: u}
	next := firstWait
	for {
		begun := c.Now()
		err := d.once(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was to end
		}
		if c.Now().Sub(begun) >= steady {
			next = firstWait
		}
		c.Log.Warn("not connected to the server", "server", u.Host, "why", err.Error(), "next_ms", next.Milliseconds())
		if c.Pause(ctx, next/2+rand.N(next/2)) != nil {
			return nil //nolint:nilerr // it was to end
		}
		next = min(mostWait, 2*next)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type dialer struct {
	Config
	url *url.URL
}

// once connects and answers until the connection is over, and says why it is.
func (d *dialer) once(ctx context.Context) error {
	call := outward.Call{Server: d.url, Path: Path, Protocol: Protocol, Bearer: d.Token, Header: wire.MostHeader, Time: wire.Greet, TLS: d.TLS}
	raw, err := call.Connect(ctx)
	if err != nil {
		return err
	}
	conn := line.Watch(raw)
	d.Log.Info("connected to the server", "server", d.url.Host)
	session := d.Desk.Session()
	defer session.End()
	s := &http.Server{
		Handler: &door{d.House, d.Head, d.Attest, session, d.Log}, Protocols: wire.OnlyHTTP2(), HTTP2: wire.Heartbeats(), MaxHeaderBytes: wire.MostHeader,
		ReadHeaderTimeout: wire.Greet, ErrorLog: slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = s.Serve(conn.Listen()) // returns when the connection is closed
	return errors.Join(errors.New("the connection ended"), s.Close())
}
