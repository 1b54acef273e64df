package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

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
		Proxy: p, conn: conn, cancel: cancel, began: p.cfg.Now(),
		r:     bufio.NewReaderSize(conn, p.cfg.Limits.HeaderBytes),
		entry: Entry{Connection: p.last.Add(1)},
	}
	c.handshake()
	first, err := c.r.Peek(1)
	if err != nil {
		return // whoever says nothing asks for nothing
	}
	if first[0] == socks.Version {
		c.serveSOCKS(ctx)
	} else {
		c.serveHTTP(ctx)
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
func (c *client) finish(ctx context.Context, up *relay.Metered, d *denial) {
	if cause := context.Cause(ctx); d == nil && (errors.Is(cause, errIdle) || errors.Is(cause, errTotal)) {
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
func (c *client) open(ctx context.Context) (*relay.Metered, *denial) {
	name, port := c.entry.Host, c.entry.Port
	if !c.rules.Has(name, port) {
		return nil, refused(NotListed, "%s isn't in the policy's network list", Rule{Host: name, Port: port})
	}
	connecting, cancel := context.WithTimeout(ctx, c.cfg.Limits.Connect)
	defer cancel()
	conn, to, err := c.way.Open(connecting, name, port)
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
	context.AfterFunc(ctx, func() { conn.Close() })
	return relay.Meter(conn, c.cfg.Limits.Idle, func() { c.cancel(errIdle) }), nil
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
