// Package outbound makes the HTTP client by which a server asks others, as providers of
// identity and who collects traces: one that can't be led to addresses of the machine or
// its network.
//
// A name is looked up once, its addresses are judged, and one of those is connected to.
// What isn't an address of the public Internet is refused, unless the operator listed the
// host and port. There are no redirects and no proxies of the environment, answers are
// bounded, and there is TLS but for what is listed and is the loopback's address itself.
//
// # Limits
//
// It doesn't judge which public hosts are asked: the operator configured those. What they
// answer is read by others.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"paddock/internal/egress/host"
	"paddock/internal/egress/reach"
)

const (
	timeout    = 10 * time.Second
	mostAnswer = 1 << 20
)

// ErrTooLong means that an answer had more than is read.
var ErrTooLong = errors.New("the answer is longer than 1 MiB")

// Client returns a client that may connect to public addresses, and to those of the hosts
// that are listed as host:port. nil roots are the system's.
func Client(inside []string, roots *x509.CertPool) *http.Client {
	d := dialer{inside: inside}
	return &http.Client{
		Timeout: timeout,
		Transport: &transport{inside: inside, next: &http.Transport{
			DialContext: d.dial, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives: true, // it is asked now and then; nothing stays open
			ForceAttemptHTTP2: true,
		}},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("it redirects to %s, and redirects aren't followed", r.URL.Host)
		},
	}
}

// dialer connects to what was judged.
type dialer struct{ inside []string }

func (d dialer) dial(ctx context.Context, _, authority string) (net.Conn, error) {
	name, port, err := host.Split(authority, 443)
	if err != nil {
		return nil, err
	}
	if name, err = host.Normalise(name); err != nil {
		return nil, err
	}
	listed := slices.Contains(d.inside, net.JoinHostPort(name, fmt.Sprint(port)))
	way := reach.Way{Judge: func(addrs []netip.Addr, _ int) (good []netip.Addr, why string) {
		for _, a := range addrs {
			if s := host.Special(a); s != "" && !listed {
				why = s
				continue
			}
			good = append(good, a)
		}
		return good, why
	}}
	conn, _, err := way.Open(ctx, name, port)
	return conn, err
}

// transport refuses what isn't encrypted and bounds what is answered.
type transport struct {
	inside []string
	next   *http.Transport
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !t.local(r.URL) {
		return nil, fmt.Errorf("%s isn't asked without TLS", r.URL.Host)
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &bounded{res.Body, mostAnswer}
	return res, nil
}

// local reports whether u is a listed address of the loopback.
func (t *transport) local(u *url.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() && u.Scheme == "http" && slices.Contains(t.inside, u.Host)
}

type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if n, err := b.ReadCloser.Read(make([]byte, 1)); n == 0 && err != nil {
			return 0, err
		}
		return 0, ErrTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
