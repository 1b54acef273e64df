package egress

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"

	"paddock/internal/egress/forward"
	"paddock/internal/egress/head"
	"paddock/internal/egress/relay"
)

// terminate ends TLS for a host that gets a credential and forwards the
// requests in it, each with the credential added.
func (c *client) terminate(ctx context.Context, up *relay.Metered, i Injection) *denial {
	var wrong *denial
	inner := tls.Server(relay.Rejoin(c.conn, c.r), &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		Time:       c.cfg.Now,
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if wrong = c.checkName(h.ServerName); wrong != nil {
				return nil, errors.New(wrong.reason)
			}
			return c.authority.Certificate(c.entry.Host), nil
		},
	})
	if err := inner.HandshakeContext(ctx); err != nil {
		if wrong == nil {
			wrong = refused(TLSRequired, "TLS with the client failed (does it trust the run's own authority, and speak HTTP/1.1?): %v", err)
		}
		return wrong
	}
	r := bufio.NewReaderSize(inner, c.cfg.Limits.HeaderBytes)
	f := forward.New(inner, r, up, c.entry.Host, c.entry.Port, &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: c.entry.Host, RootCAs: cmp.Or(i.Roots, c.cfg.Roots), Time: c.cfg.Now,
	}, c.cfg.Limits.Handshake)
	defer f.Close()
	var d *denial
	for again := true; again; {
		again, d = c.nextInjected(ctx, inner, r, f, i)
	}
	if inner.CloseWrite() == nil {
		relay.Linger(c.conn)
	}
	return d
}

// nextInjected serves one request of an injected tunnel.
func (c *client) nextInjected(ctx context.Context, w io.Writer, r *bufio.Reader, f *forward.Forwarder, i Injection) (again bool, d *denial) {
	c.talk() // between requests a connection may be idle
	if _, err := r.Peek(1); err != nil {
		return false, nil // the client is done
	}
	c.handshake()
	raw, err := head.Peek(r)
	if err != nil {
		d = c.unread(Malformed, err)
	} else if h, err := head.Parse(raw); err != nil {
		d = refused(Malformed, "%v", err)
	} else {
		d = c.checkInjected(h)
	}
	if d != nil {
		c.tell(w, d)
		return false, d
	}
	secret, err := forward.NewSecret(i.Header, i.Value())
	if err != nil {
		d = failed(SecretMissing, "the credential for %s can't be used: %v", c.entry.Host, err)
		c.tell(w, d)
		return false, d
	}
	c.talk()
	c.entry.Injected = []string{i.Name}
	c.entry.InjectedRequests++
	again, err = f.Forward(ctx, secret)
	return again, c.unanswered(w, err)
}

// checkInjected refuses requests in which the credential would go somewhere
// else, or come back.
func (c *client) checkInjected(h head.Head) *denial {
	switch {
	case !strings.HasPrefix(h.Target, "/"):
		return refused(Malformed, "in a tunnel a request names a path")
	case h.Host == "":
		return refused(Malformed, "the request has no Host field")
	case strings.EqualFold(h.Method, http.MethodTrace) || strings.EqualFold(h.Method, http.MethodConnect):
		return refused(Unsupported, "%s isn't passed on with a credential", h.Method)
	}
	if err := c.agrees(h, tlsPort); err != nil {
		return refused(HostMismatch, "%v", err)
	}
	return nil
}
