package egress

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"paddock/internal/egress/head"
	"paddock/internal/egress/mask"
)

// maxResponseHeader bounds the head of an answer.
const maxResponseHeader = 256 << 10

// servePlain forwards one request for http://host/path. The connection ends
// with it: what a client may have hidden behind a body is never read.
func (c *client) servePlain(h head.Head) {
	name, port, err := h.Authority()
	if err != nil {
		c.answerHTTP(c.conn, refused(Malformed, "%v", err))
		return
	}
	c.entry.Host, c.entry.Port = name, port
	up, d := c.open()
	if d != nil {
		c.answerHTTP(c.conn, d)
		return
	}
	defer up.close()
	c.decide(nil)
	f := c.forwarder(c.conn, c.r, "http", up)
	defer f.transport.CloseIdleConnections()
	_, d = f.forward(nil)
	c.finish(up, d)
	c.linger()
}

// A forwarder passes requests that were read from r on to one upstream, and
// the answers to w.
type forwarder struct {
	c         *client
	w         io.Writer
	r         *bufio.Reader
	scheme    string
	transport *http.Transport
}

func (c *client) forwarder(w io.Writer, r *bufio.Reader, scheme string, up *upstream) *forwarder {
	var taken atomic.Bool
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &forwarder{c: c, w: w, r: r, scheme: scheme, transport: &http.Transport{
		// The connection that was judged is the only one there will be.
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			if taken.Swap(true) {
				return nil, errors.New("the origin has closed the connection")
			}
			return up, nil
		},
		Protocols: protocols, DisableCompression: true, DisableKeepAlives: scheme == "http",
		TLSHandshakeTimeout: c.cfg.Limits.Handshake, MaxResponseHeaderBytes: maxResponseHeader,
	}}
}

// forward passes one request on. It returns true if another one may follow on
// the same connection, and why it was not answered by the origin if it wasn't.
func (f *forwarder) forward(secret *credential) (again bool, d *denial) {
	in, err := http.ReadRequest(f.r)
	if err != nil {
		return false, f.answer(refused(Malformed, "%v", err))
	}
	f.c.talk()
	out, body := f.request(in)
	if secret != nil {
		secret.give(out.Header)
	}
	resp, err := f.transport.RoundTrip(out)
	body.seal()
	if err != nil {
		return false, f.answer(failed(OriginFailed, "%s didn't answer: %v", out.URL.Host, secret.hide(err.Error())))
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return false, f.answer(failed(OriginFailed, "%s changed the protocol without being asked", out.URL.Host))
	}
	again = secret != nil && !in.Close && !resp.Close && in.ProtoAtLeast(1, 1)
	if err := f.respond(in, resp, secret, again); err != nil {
		return false, failed(OriginFailed, "the answer ended early: %v", secret.hide(err.Error()))
	}
	return again && body.ended(), nil
}

// request makes the request that goes to the origin. Everything that frames or
// routes it is written anew; what the client said about that is not passed on.
func (f *forwarder) request(in *http.Request) (*http.Request, *body) {
	b := &body{from: in.Body, to: f.w}
	b.expected = strings.EqualFold(in.Header.Get("Expect"), "100-continue") && in.ProtoAtLeast(1, 1)
	header := in.Header.Clone()
	removeHopByHop(header)
	header.Del("Expect")
	if _, ok := header["User-Agent"]; !ok {
		header["User-Agent"] = []string{""} // or net/http would add its own
	}
	name, port := f.c.entry.Host, f.c.entry.Port
	authority := net.JoinHostPort(name, strconv.Itoa(port))
	out := &http.Request{
		Method: in.Method,
		URL: &url.URL{
			Scheme: f.scheme, Host: authority, Path: in.URL.Path, RawPath: in.URL.RawPath,
			RawQuery: in.URL.RawQuery, ForceQuery: in.URL.ForceQuery,
		},
		Host: authority, Header: header, ContentLength: in.ContentLength, Body: b,
	}
	if f.scheme == "http" && port == 80 || f.scheme == "https" && port == tlsPort {
		out.Host = strings.TrimSuffix(authority, ":"+strconv.Itoa(port))
	}
	if in.ContentLength == 0 {
		out.Body, b.done = http.NoBody, true
	}
	return out.WithContext(f.c.ctx), b
}

func removeHopByHop(header http.Header) {
	for _, list := range header["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			header.Del(strings.TrimSpace(name))
		}
	}
	for name := range header {
		if head.HopByHop(name) {
			delete(header, name)
		}
	}
}

// respond writes the origin's answer to the client.
func (f *forwarder) respond(in *http.Request, resp *http.Response, secret *credential, again bool) error {
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
	if secret != nil {
		secret.hideHeader(resp.Header)
		resp.Body = struct {
			io.Reader
			io.Closer
		}{mask.Reader(resp.Body, secret.words...), resp.Body}
	}
	return resp.Write(f.w)
}

// answer tells the client why it gets nothing from the origin.
func (f *forwarder) answer(d *denial) *denial {
	f.c.writeDenial(f.w, d)
	return d
}

// answerHTTP records a denial and tells it to the client.
func (c *client) answerHTTP(w io.Writer, d *denial) {
	c.decide(d)
	if c.writeDenial(w, d) {
		c.linger()
	}
}

// writeDenial answers a request with why it is denied. Whether the client
// reads that is its affair; the decision is already recorded.
func (c *client) writeDenial(w io.Writer, d *denial) bool {
	status, name := http.StatusForbidden, "X-Paddock-Refused"
	switch {
	case d.verdict == Failed:
		status, name = http.StatusBadGateway, "X-Paddock-Failed"
	case d.code == TimedOut:
		status = http.StatusRequestTimeout
	case d.code == Malformed:
		status = http.StatusBadRequest
	}
	text := "paddock: " + d.reason + "\n"
	resp := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{name: {d.code}, "Content-Type": {"text/plain; charset=utf-8"}},
		ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text)),
	}
	c.conn.SetDeadline(c.soon())
	return resp.Write(w) == nil
}

// A body is the body of a client's request. It says "100 Continue" when it is
// first read, unless the answer has begun by then.
type body struct {
	from io.ReadCloser
	to   io.Writer

	mu       sync.Mutex // guards what follows
	expected bool       // the client waits for 100 Continue
	done     bool       // it was read to its end
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.invite(); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if errors.Is(err, io.EOF) {
		b.mu.Lock()
		b.done = true
		b.mu.Unlock()
	}
	return n, err
}

func (b *body) invite() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.expected {
		return nil
	}
	b.expected = false
	_, err := io.WriteString(b.to, "HTTP/1.1 100 Continue\r\n\r\n")
	return err
}

// Close leaves the client's connection open; the answer goes there.
func (b *body) Close() error { return nil }

// seal is called before the answer is written.
func (b *body) seal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = false
}

func (b *body) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}
