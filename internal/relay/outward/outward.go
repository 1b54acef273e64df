// Package outward makes a connection to a server and asks it for an upgrade, as a client
// that serves over it afterwards.
//
// # Limits
//
// It shows its word by TLS or to loopback, goes through no proxy and follows no redirect.
// What is spoken after the upgrade is the caller's.
package outward

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Address is a server's; nothing is sent over plain HTTP to another machine.
func Address(text string) (*url.URL, error) {
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

// A Call is what is asked for, of whom.
type Call struct {
	Server *url.URL // of Address
	Path   string
	// Protocol is that of the upgrade.
	Protocol string
	// Bearer is the word that is shown.
	Bearer string
	// Header bounds what the server says before the upgrade, and Time how long it takes.
	Header int64
	Time   time.Duration
	// TLS may name other authorities than the system's; nil means those.
	TLS *tls.Config
}

// Connect returns a connection that was upgraded.
func (c Call) Connect(ctx context.Context) (_ net.Conn, err error) {
	greet, cancel := context.WithTimeout(ctx, c.Time)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(greet, "tcp", c.Server.Host)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = raw.Close() // err says it all
		}
	}()
	if c.Server.Scheme == "https" {
		cfg := &tls.Config{MinVersion: tls.VersionTLS12}
		if c.TLS != nil {
			cfg = c.TLS.Clone()
		}
		cfg.ServerName, cfg.NextProtos = c.Server.Hostname(), []string{"http/1.1"}
		secure := tls.Client(raw, cfg)
		if err := secure.HandshakeContext(greet); err != nil {
			return nil, err
		}
		raw = secure
	}
	stop := context.AfterFunc(greet, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	in, err := c.upgrade(greet, raw)
	if err != nil {
		return nil, err
	}
	if !stop() {
		return nil, greet.Err()
	}
	return &begun{raw, in}, nil
}

// upgrade returns what is to be read from: the server may have spoken already.
func (c Call) upgrade(ctx context.Context, conn net.Conn) (io.Reader, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server.Scheme+"://"+c.Server.Host+c.Path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Bearer)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", c.Protocol)
	r.Header.Set("User-Agent", "paddock-worker")
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	in := bufio.NewReader(&io.LimitedReader{R: conn, N: c.Header})
	a, err := http.ReadResponse(in, r)
	if err != nil {
		return nil, fmt.Errorf("what is at %s isn't a server of ours: %w", c.Server.Host, err)
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusSwitchingProtocols || !strings.EqualFold(a.Header.Get("Upgrade"), c.Protocol) {
		return nil, fmt.Errorf("the server answers %s", a.Status)
	}
	early, err := in.Peek(in.Buffered())
	if err != nil {
		return nil, err
	}
	return io.MultiReader(strings.NewReader(string(early)), conn), nil
}

// A begun connection has something that was read already.
type begun struct {
	net.Conn
	in io.Reader
}

func (b *begun) Read(p []byte) (int, error) { return b.in.Read(p) }
