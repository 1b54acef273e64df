package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"paddock/internal/egress/forward"
	"paddock/internal/egress/head"
	"paddock/internal/egress/host"
	"paddock/internal/egress/relay"
)

func (c *client) serveHTTP(ctx context.Context) {
	c.entry.Protocol = "http"
	raw, err := head.Peek(c.r)
	if err != nil {
		c.answerHTTP(c.conn, c.unread(Malformed, err))
		return
	}
	h, err := head.Parse(raw)
	if err != nil {
		c.answerHTTP(c.conn, refused(Malformed, "%v", err))
		return
	}
	target, standard := h.Target, 0
	if h.Method == http.MethodConnect {
		c.entry.Protocol = "connect"
	} else if target, err = h.Authority(); err == nil {
		standard = 80
	}
	if err == nil {
		c.entry.Host, c.entry.Port, err = host.Split(target, standard)
	}
	if err != nil {
		c.answerHTTP(c.conn, refused(Malformed, "%v", err))
		return
	}
	if err := c.agrees(h, cmp.Or(standard, c.entry.Port)); err != nil {
		c.answerHTTP(c.conn, refused(HostMismatch, "%v", err))
		return
	}
	if h.Method == http.MethodConnect {
		c.serveConnect(ctx, len(raw))
	} else {
		c.servePlain(ctx)
	}
}

// agrees insists that the Host field, where there is one, means what was asked
// for; standard is the port of a Host field that names none.
func (c *client) agrees(h head.Head, standard int) error {
	if h.Host == "" {
		return nil
	}
	name, port, err := host.Split(h.Host, standard)
	if err != nil {
		return fmt.Errorf("the Host field: %w", err)
	}
	if name != c.entry.Host || port != c.entry.Port {
		return fmt.Errorf("the Host field names another host or port than %s", Rule{Host: c.entry.Host, Port: c.entry.Port})
	}
	return nil
}

// serveConnect opens a tunnel; what follows the head of the request is its
// beginning.
func (c *client) serveConnect(ctx context.Context, headBytes int) {
	if _, err := c.r.Discard(headBytes); err != nil {
		c.answerHTTP(c.conn, c.unread(Malformed, err))
		return
	}
	up, d := c.open(ctx)
	if d != nil {
		c.answerHTTP(c.conn, d)
		return
	}
	defer up.Release()
	c.decide(nil)
	if _, err := io.WriteString(c.conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.finish(ctx, up, failed(ConnectFailed, "the client went away"))
		return
	}
	c.finish(ctx, up, c.tunnel(ctx, up))
}

// servePlain forwards one request for http://host/path. The connection ends
// with it: what a client may have hidden behind a body is never read.
func (c *client) servePlain(ctx context.Context) {
	up, d := c.open(ctx)
	if d != nil {
		c.answerHTTP(c.conn, d)
		return
	}
	defer up.Release()
	c.decide(nil)
	f := forward.New(c.conn, c.r, up, c.entry.Host, c.entry.Port, nil, c.cfg.Limits.Handshake)
	defer f.Close()
	c.talk()
	_, err := f.Forward(ctx, nil)
	c.finish(ctx, up, c.unanswered(c.conn, err))
	relay.Linger(c.conn)
}

// unanswered tells the client why the origin didn't answer, if it wasn't told.
func (c *client) unanswered(w io.Writer, err error) *denial {
	if err == nil {
		return nil
	}
	d := failed(OriginFailed, "%v", err)
	if u, ok := errors.AsType[*forward.Unanswered](err); ok {
		if u.Malformed {
			d = refused(Malformed, "%v", err)
		}
		c.tell(w, d)
	}
	return d
}

// answerHTTP records a denial and tells it to the client.
func (c *client) answerHTTP(w io.Writer, d *denial) {
	c.decide(d)
	if c.tell(w, d) {
		relay.Linger(c.conn)
	}
}

// tell answers a request with why it is denied. Whether the client reads that
// is its affair; the decision is already recorded.
func (c *client) tell(w io.Writer, d *denial) bool {
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
	c.handshake() // a client that doesn't read isn't waited for
	return resp.Write(w) == nil
}
