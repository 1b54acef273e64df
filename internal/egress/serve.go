package egress

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"paddock/internal/egress/forward"
	"paddock/internal/egress/head"
	"paddock/internal/egress/host"
	"paddock/internal/egress/reach"
	"paddock/internal/egress/relay"
	"paddock/internal/egress/socks"
)

// Why a connection was closed by us.
var (
	errIdle  = errors.New("nothing moved on the connection for too long")
	errTotal = errors.New("the connection was open for as long as one may be")
)

func (p *Proxy) record(e Entry) {
	p.recording.Lock()
	defer p.recording.Unlock()
	e.At = p.cfg.Now()
	p.cfg.Record(e)
}

// A client is one connection from the run, from its first byte to its end.
type client struct {
	*Proxy
	conn   net.Conn
	r      *bufio.Reader // of conn
	ctx    context.Context
	cancel context.CancelCauseFunc
	began  time.Time
	// entry is what is recorded: who asked for what, as far as it is known.
	entry Entry
}

// A denial is why a connection gets nothing, or nothing more.
type denial struct{ verdict, code, reason string }

func refused(code, format string, args ...any) *denial {
	return &denial{Refused, code, fmt.Sprintf(format, args...)}
}

func failed(code, format string, args ...any) *denial {
	return &denial{Failed, code, fmt.Sprintf(format, args...)}
}

func (p *Proxy) serve(ctx context.Context, conn net.Conn) {
	ctx, end := context.WithTimeoutCause(ctx, p.cfg.Limits.Total, errTotal)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()

	c := &client{
		Proxy: p, conn: conn, ctx: ctx, cancel: cancel, began: p.cfg.Now(),
		r:     bufio.NewReaderSize(conn, p.cfg.Limits.HeaderBytes),
		entry: Entry{Connection: p.last.Add(1)},
	}
	c.handshake()
	first, err := c.r.Peek(1)
	if err != nil {
		return // whoever says nothing asks for nothing
	}
	if first[0] == socks.Version {
		c.serveSOCKS()
	} else {
		c.serveHTTP()
	}
}

// handshake gives the client a while from now on to say what it wants; talk
// ends that.
func (c *client) handshake() { c.conn.SetDeadline(time.Now().Add(c.cfg.Limits.Handshake)) }

func (c *client) talk() { c.conn.SetDeadline(time.Time{}) }

// decide records the decision on what the client asked for.
func (c *client) decide(d *denial) {
	e := c.entry
	e.Verdict, e.Took = Allowed, c.cfg.Now().Sub(c.began)
	if d != nil {
		e.Verdict, e.Code, e.Reason, e.Closed = d.verdict, d.code, d.reason, true
	}
	c.record(e)
}

// finish records the end of a connection that was let through.
func (c *client) finish(up *relay.Metered, d *denial) {
	if cause := context.Cause(c.ctx); d == nil && (errors.Is(cause, errIdle) || errors.Is(cause, errTotal)) {
		d = &denial{Allowed, TimedOut, cause.Error()}
	}
	e := c.entry
	e.BytesOut, e.BytesIn = up.Counts()
	e.Verdict, e.Closed, e.Took = Allowed, true, c.cfg.Now().Sub(c.began)
	if d != nil {
		e.Verdict, e.Code, e.Reason = d.verdict, d.code, d.reason
	}
	c.record(e)
}

// open judges what the client asked for and connects to it.
func (c *client) open() (*relay.Metered, *denial) {
	name, port := c.entry.Host, c.entry.Port
	if !c.rules.Has(name, port) {
		return nil, refused(NotListed, "%s isn't in the policy's network list", Rule{Host: name, Port: port})
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.cfg.Limits.Connect)
	defer cancel()
	conn, to, err := c.way.Open(ctx, name, port)
	if err != nil {
		if _, ok := errors.AsType[*reach.RefusedError](err); ok {
			return nil, refused(AddressRefused, "%v", err)
		}
		if _, ok := errors.AsType[*reach.ResolveError](err); ok {
			return nil, failed(ResolveFailed, "%v", err)
		}
		return nil, failed(ConnectFailed, "%v", err)
	}
	c.entry.Address = to.String()
	context.AfterFunc(c.ctx, func() { conn.Close() })
	return relay.Meter(conn, c.cfg.Limits.Idle, func() { c.cancel(errIdle) }), nil
}

func (c *client) serveSOCKS() {
	c.entry.Protocol = "socks5"
	if err := socks.Negotiate(struct {
		io.Reader
		io.Writer
	}{c.r, c.conn}); err != nil {
		c.decide(c.unread(Unsupported, err))
		return
	}
	name, port, err := socks.ReadRequest(c.r)
	if err != nil {
		reply := byte(socks.Failed)
		if bad, ok := errors.AsType[*socks.RequestError](err); ok {
			reply = bad.Reply
		}
		c.answerSOCKS(reply, c.unread(Malformed, err))
		return
	}
	c.entry.Port = port
	if c.entry.Host, err = host.Normalise(name); err != nil {
		c.answerSOCKS(socks.NotAllowed, refused(Malformed, "%v", err))
		return
	}
	up, d := c.open()
	if d != nil {
		reply := byte(socks.NotAllowed)
		if d.verdict == Failed {
			reply = socks.Unreachable
		}
		c.answerSOCKS(reply, d)
		return
	}
	defer up.Close()
	c.decide(nil)
	if err := socks.Reply(c.conn, socks.Succeeded); err != nil {
		c.finish(up, failed(ConnectFailed, "the client went away"))
		return
	}
	c.finish(up, c.tunnel(up))
}

func (c *client) answerSOCKS(reply byte, d *denial) {
	c.decide(d)
	if err := socks.Reply(c.conn, reply); err == nil {
		relay.Linger(c.conn)
	}
}

// unread says why a request couldn't be read: its form, or that its end never
// came.
func (c *client) unread(code string, err error) *denial {
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case ok && timeout.Timeout():
		return refused(TimedOut, "the request wasn't complete after %v", c.cfg.Limits.Handshake)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || ok:
		return refused(Malformed, "the request ends before it is complete")
	}
	return refused(code, "%v", err)
}

func (c *client) serveHTTP() {
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
	if err == nil {
		err = c.agrees(h, cmp.Or(standard, c.entry.Port))
	}
	if err != nil {
		c.answerHTTP(c.conn, refused(Malformed, "%v", err))
		return
	}
	if h.Method == http.MethodConnect {
		c.serveConnect(len(raw))
	} else {
		c.servePlain()
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
func (c *client) serveConnect(headBytes int) {
	if _, err := c.r.Discard(headBytes); err != nil {
		c.answerHTTP(c.conn, c.unread(Malformed, err))
		return
	}
	up, d := c.open()
	if d != nil {
		c.answerHTTP(c.conn, d)
		return
	}
	defer up.Close()
	c.decide(nil)
	if _, err := io.WriteString(c.conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.finish(up, failed(ConnectFailed, "the client went away"))
		return
	}
	c.finish(up, c.tunnel(up))
}

// servePlain forwards one request for http://host/path. The connection ends
// with it: what a client may have hidden behind a body is never read.
func (c *client) servePlain() {
	up, d := c.open()
	if d != nil {
		c.answerHTTP(c.conn, d)
		return
	}
	defer up.Close()
	c.decide(nil)
	f := forward.New(c.conn, c.r, up, c.entry.Host, c.entry.Port, nil, c.cfg.Limits.Handshake)
	defer f.Close()
	c.talk()
	_, err := f.Forward(c.ctx, nil)
	c.finish(up, c.unanswered(c.conn, err))
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
