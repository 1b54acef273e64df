package egress

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"paddock/internal/egress/head"
	"paddock/internal/egress/mask"
)

// minSecret is the shortest word that is looked for in answers: masking less
// would tear holes into text that has nothing to do with the secret.
const minSecret = 8

// terminate ends TLS for a host that gets a credential and forwards the
// requests in it, each with the credential added.
func (c *client) terminate(up *upstream, i Injection) *denial {
	var wrong *denial
	inner := tls.Server(&buffered{c.conn, c.r}, &tls.Config{
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
	if err := inner.HandshakeContext(c.ctx); err != nil {
		if wrong == nil {
			wrong = refused(TLSRequired, "TLS with the client failed (does it trust the run's own authority, and speak HTTP/1.1?): %v", err)
		}
		return wrong
	}
	r := bufio.NewReaderSize(inner, c.cfg.Limits.HeaderBytes)
	f := c.forwarder(inner, r, "https", up)
	f.transport.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: c.entry.Host, RootCAs: c.cfg.Roots, Time: c.cfg.Now,
	}
	defer f.transport.CloseIdleConnections()
	for again := true; again; {
		var d *denial
		if again, d = c.nextInjected(f, i); d != nil {
			return d
		}
	}
	if inner.CloseWrite() == nil {
		c.linger()
	}
	return nil
}

// nextInjected serves one request of an injected tunnel.
func (c *client) nextInjected(f *forwarder, i Injection) (again bool, d *denial) {
	c.talk() // between requests a connection may be idle
	if _, err := f.r.Peek(1); err != nil {
		return false, nil // the client is done
	}
	c.handshake()
	raw, err := head.Peek(f.r)
	if err != nil {
		return false, f.answer(c.unread(Malformed, err))
	}
	h, err := head.Parse(raw)
	if err != nil {
		return false, f.answer(refused(Malformed, "%v", err))
	}
	if d := c.checkInjected(h); d != nil {
		return false, f.answer(d)
	}
	secret, err := newCredential(i)
	if err != nil {
		return false, f.answer(failed(SecretMissing, "the credential for %s can't be used: %v", c.entry.Host, err))
	}
	c.entry.Injected++
	return f.forward(secret)
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
	if err := h.Agrees(c.entry.Host, c.entry.Port, tlsPort); err != nil {
		return refused(HostMismatch, "%v", err)
	}
	return nil
}

// A credential is the value of an injection for one request.
type credential struct {
	header, value string
	words         []string // what is masked in the answer
}

func newCredential(i Injection) (*credential, error) {
	value := i.Value()
	if value == "" {
		return nil, errors.New("it is empty")
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return nil, errors.New("it has characters that a header can't carry")
	}
	s := &credential{header: i.Header, value: value}
	// The whole value first, then what follows a scheme such as Bearer.
	_, token, _ := strings.Cut(value, " ")
	for _, w := range []string{value, token} {
		if len(w) >= minSecret {
			s.words = append(s.words, w)
		}
	}
	return s, nil
}

// give puts the credential in the place of what the client sent under its
// name. The answer must be readable, or it couldn't be masked.
func (s *credential) give(header http.Header) {
	for name := range header {
		if strings.EqualFold(name, s.header) {
			delete(header, name)
		}
	}
	header.Set(s.header, s.value)
	header.Set("Accept-Encoding", "identity")
}

// hide masks the credential; a nil credential hides nothing.
func (s *credential) hide(text string) string {
	if s == nil {
		return text
	}
	return mask.String(text, s.words...)
}

func (s *credential) hideHeader(header http.Header) {
	for _, values := range header {
		for i := range values {
			values[i] = s.hide(values[i])
		}
	}
}

// A buffered is a connection of which a beginning was already read into r.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// CloseWrite passes on the end of one direction.
func (b *buffered) CloseWrite() error { return closeWrite(b.Conn) }

// soon is when a client must have taken a short answer.
func (c *client) soon() time.Time { return time.Now().Add(c.cfg.Limits.Handshake) }

var _ io.Reader = (*buffered)(nil)
