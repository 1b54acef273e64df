// Package forward passes HTTP/1.1 requests on to one origin over a connection
// that was judged before, and the answers back. What frames or routes a request
// is written anew; nothing that a client said about it reaches the origin.
//
// # Limits
//
// It doesn't judge: whoever calls has read the head strictly and connected to
// the host that it means. No upgrades, no trailers, no HTTP/2.
package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// maxResponseHeader bounds the head of an answer.
const maxResponseHeader = 256 << 10

// A Forwarder passes on the requests of one client connection. Its methods
// are called by one goroutine.
type Forwarder struct {
	client    io.Writer
	requests  *bufio.Reader
	host      string
	port      int
	secure    *tls.Config
	transport *http.Transport
}

// Unanswered is an error before anything was said to the client, who must
// still be told.
type Unanswered struct {
	// Malformed is set if it is the client's fault, and not the origin's.
	Malformed bool
	Err       error
}

func (u *Unanswered) Error() string { return u.Err.Error() }
func (u *Unanswered) Unwrap() error { return u.Err }

// New makes a forwarder from requests to the host that origin is connected to,
// with answers to client. With secure it speaks TLS to the origin, and one
// connection may carry several requests.
func New(client io.Writer, requests *bufio.Reader, origin net.Conn, host string, port int, secure *tls.Config, handshake time.Duration) *Forwarder {
	var taken atomic.Bool
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Forwarder{
		client: client, requests: requests, host: host, port: port, secure: secure,
		transport: &http.Transport{
			// The connection that was judged is the only one there will be.
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				if taken.Swap(true) {
					return nil, errors.New("the origin has closed the connection")
				}
				return origin, nil
			},
			Protocols: protocols, DisableCompression: true, DisableKeepAlives: secure == nil,
			TLSClientConfig: secure, TLSHandshakeTimeout: handshake, MaxResponseHeaderBytes: maxResponseHeader,
		},
	}
}

// Close lets go of the origin.
func (f *Forwarder) Close() { f.transport.CloseIdleConnections() }

// Forward passes one request on, with secret added unless it is nil, and
// answers it. It returns true if another may follow on the same connection.
func (f *Forwarder) Forward(ctx context.Context, secret *Secret) (again bool, err error) {
	in, err := http.ReadRequest(f.requests)
	if err != nil {
		return false, &Unanswered{Malformed: true, Err: err}
	}
	out, body := f.request(in)
	secret.give(out.Header)
	resp, err := f.transport.RoundTrip(out.WithContext(ctx))
	body.seal()
	if err != nil {
		return false, &Unanswered{Err: fmt.Errorf("%s didn't answer: %s", out.URL.Host, secret.hide(err.Error()))}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return false, &Unanswered{Err: fmt.Errorf("%s changed the protocol without being asked", out.URL.Host)}
	}
	again = f.secure != nil && !in.Close && !resp.Close && in.ProtoAtLeast(1, 1)
	// An origin that answers before it has the whole body leaves the rest of it
	// where the next request would begin.
	again = again && body.ended()
	if err := f.respond(in, resp, secret, again); err != nil {
		return false, fmt.Errorf("the answer ended early: %s", secret.hide(err.Error()))
	}
	return again, nil
}

// request makes the request that goes to the origin.
func (f *Forwarder) request(in *http.Request) (*http.Request, *body) {
	header := in.Header.Clone()
	removeHopByHop(header)
	header.Del("Expect")
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = []string{""} // or net/http would add its own
	}
	scheme, standard := "http", 80
	if f.secure != nil {
		scheme, standard = "https", 443
	}
	authority := net.JoinHostPort(f.host, strconv.Itoa(f.port))
	host := authority
	if f.port == standard {
		host = strings.TrimSuffix(authority, ":"+strconv.Itoa(f.port))
	}
	b := newBody(in, f.client)
	out := &http.Request{
		Method: in.Method,
		URL: &url.URL{
			Scheme: scheme, Host: authority, Path: in.URL.Path, RawPath: in.URL.RawPath,
			RawQuery: in.URL.RawQuery, ForceQuery: in.URL.ForceQuery,
		},
		Host: host, Header: header, ContentLength: in.ContentLength, Body: b,
	}
	if in.ContentLength == 0 {
		out.Body = http.NoBody
	}
	return out, b
}

// respond writes the origin's answer to the client.
func (f *Forwarder) respond(in *http.Request, resp *http.Response, secret *Secret, again bool) error {
	removeHopByHop(resp.Header)
	resp.Trailer = nil
	resp.Request = in
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/1.1", 1, 1
	resp.Close = !again
	resp.TransferEncoding = nil
	if resp.ContentLength < 0 && in.ProtoAtLeast(1, 1) {
		// In chunks an answer that breaks off can be told from one that ends.
		resp.TransferEncoding = []string{"chunked"}
	}
	secret.hideIn(resp)
	return resp.Write(f.client)
}

// removeHopByHop removes what is about one connection only, and what the
// Connection field says is.
func removeHopByHop(header http.Header) {
	for _, list := range header["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			header.Del(strings.TrimSpace(name))
		}
	}
	for name := range header {
		if hopByHop(name) {
			delete(header, name)
		}
	}
}

// hopByHop tells whether a field is about one connection (RFC 9110, 7.6.1, and
// what proxies know beside it).
func hopByHop(name string) bool {
	switch strings.ToLower(name) {
	case "connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
		"te", "trailer", "transfer-encoding", "upgrade", "http2-settings":
		return true
	}
	return false
}
