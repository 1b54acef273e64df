package relay

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
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
	u, err := address(c.Server)
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
			return nil
		}
		if c.Now().Sub(begun) >= steady {
			next = firstWait
		}
		c.Log.Warn("not connected to the server", "server", u.Host, "why", err.Error(), "next_ms", next.Milliseconds())
		if c.Pause(ctx, next/2+rand.N(next/2)) != nil {
			return nil
		}
		next = min(mostWait, 2*next)
	}
}

// address is a server's; the token isn't sent over plain HTTP to another machine.
func address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%.100q is no address of a server; want one such as https://paddock.example.org", text)
	}
	at, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !at.IsLoopback()) {
		return nil, fmt.Errorf("%s is another machine, and http would show the token and all output on the way; want https", u.Hostname())
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return u, nil
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
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	d.Log.Info("connected to the server", "server", d.url.Host)
	s := &http.Server{
		Handler: &door{d.House, d.Log}, Protocols: onlyHTTP2(), HTTP2: heartbeats(), MaxHeaderBytes: mostHeader,
		ReadHeaderTimeout: greetTime, ErrorLog: slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = s.Serve(&single{conn: conn}) // returns when the connection is closed
	return errors.Join(errors.New("the connection ended"), s.Close())
}

// connect dials, and asks for the upgrade.
func (d *dialer) connect(ctx context.Context) (_ *watched, err error) {
	greet, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(greet, "tcp", d.url.Host)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = raw.Close() // err says it all
		}
	}()
	if d.url.Scheme == "https" {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12}
		if d.TLS != nil {
			cfg = d.TLS.Clone()
		}
		cfg.ServerName, cfg.NextProtos = d.url.Hostname(), []string{"http/1.1"}
		secure := tls.Client(raw, cfg)
		if err := secure.HandshakeContext(greet); err != nil {
			return nil, err
		}
		raw = secure
	}
	if until, ok := greet.Deadline(); ok {
		if err := raw.SetDeadline(until); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(greet, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	in, err := d.upgrade(greet, raw)
	if err != nil {
		return nil, err
	}
	if !stop() {
		return nil, greet.Err()
	}
	return watch(&read1{raw, in}), raw.SetDeadline(time.Time{})
}

// upgrade returns what is to be read from: the server may have spoken already.
func (d *dialer) upgrade(ctx context.Context, conn net.Conn) (io.Reader, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url.Scheme+"://"+d.url.Host+Path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+d.Token)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", Protocol)
	r.Header.Set("User-Agent", "paddock-worker")
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	limit := &io.LimitedReader{R: conn, N: mostHeader}
	in := bufio.NewReader(limit)
	a, err := http.ReadResponse(in, r)
	if err != nil {
		return nil, fmt.Errorf("what is at %s isn't a server of ours: %w", d.url.Host, err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusSwitchingProtocols || !strings.EqualFold(a.Header.Get("Upgrade"), Protocol) {
		return nil, fmt.Errorf("the server answers %s", a.Status)
	}
	early, err := in.Peek(in.Buffered())
	if err != nil {
		return nil, err
	}
	return io.MultiReader(strings.NewReader(string(early)), conn), nil
}

// A read1 connection has something that was read already.
type read1 struct {
	net.Conn
	in io.Reader
}

func (r *read1) Read(p []byte) (int, error) { return r.in.Read(p) }

// A single listener accepts one connection, and then waits for its end.
type single struct {
	mu    sync.Mutex
	given bool
	conn  *watched
}

func (s *single) Accept() (net.Conn, error) {
	s.mu.Lock()
	given := s.given
	s.given = true
	s.mu.Unlock()
	if !given {
		return s.conn, nil
	}
	<-s.conn.gone
	return nil, net.ErrClosed
}

func (s *single) Close() error   { return s.conn.Close() }
func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }
