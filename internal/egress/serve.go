package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"paddock/internal/egress/head"
	"paddock/internal/egress/host"
	"paddock/internal/egress/socks"
)

// Why a connection was closed by us.
var (
	errIdle  = errors.New("nothing moved on the connection for too long")
	errTotal = errors.New("the connection was open for as long as one may be")
)

// acceptPause is how long the proxy waits when the system has no descriptor or
// memory for a connection.
const acceptPause = 50 * time.Millisecond

// Serve serves the connections of ln until ctx ends, then closes them all and
// returns nil. It closes ln. When it returns, nothing of it is left running.
// An error means that no connection can be accepted any more.
func (p *Proxy) Serve(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer func() {
		if stop() {
			ln.Close()
		}
	}()
	for {
		if !p.takeSlot(ctx) {
			return nil
		}
		conn, err := ln.Accept()
		switch {
		case err == nil:
			open.Go(func() {
				defer func() { <-p.slots }()
				p.serve(ctx, conn)
			})
			continue
		case ctx.Err() != nil:
			return nil
		}
		<-p.slots
		if !passing(err) {
			return fmt.Errorf("egress: accept: %w", err)
		}
		select {
		case <-time.After(acceptPause):
		case <-ctx.Done():
		}
	}
}

// takeSlot waits for room for one more connection; waiting is better for a tool
// that opens too many than being refused. It is false when ctx has ended.
func (p *Proxy) takeSlot(ctx context.Context) bool {
	select {
	case p.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	default:
	}
	p.busy.Do(func() {
		p.record(Entry{Verdict: Failed, Code: Busy, Closed: true,
			Reason: fmt.Sprintf("%d connections are open; further ones wait, now and later", p.cfg.Limits.Connections)})
	})
	select {
	case p.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// passing tells whether an error of accept is about one connection or a
// shortage, and not about the listener.
func passing(err error) bool {
	for _, e := range []error{syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

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
func (c *client) finish(up *upstream, d *denial) {
	if cause := context.Cause(c.ctx); d == nil && (errors.Is(cause, errIdle) || errors.Is(cause, errTotal)) {
		d = &denial{Allowed, TimedOut, cause.Error()}
	}
	c.entry.BytesOut, c.entry.BytesIn = up.out.Load(), up.in.Load()
	e := c.entry
	e.Verdict, e.Closed, e.Took = Allowed, true, c.cfg.Now().Sub(c.began)
	if d != nil {
		e.Verdict, e.Code, e.Reason = d.verdict, d.code, d.reason
	}
	c.record(e)
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
	defer up.close()
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
		c.linger()
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
	if h.Method != "CONNECT" {
		c.servePlain(h)
		return
	}
	c.entry.Protocol = "connect"
	name, port, err := host.Split(h.Target, 0)
	if err == nil {
		err = h.Agrees(name, port, port)
	}
	if err != nil {
		c.answerHTTP(c.conn, refused(Malformed, "%v", err))
		return
	}
	if _, err := c.r.Discard(len(raw)); err != nil {
		c.answerHTTP(c.conn, c.unread(Malformed, err))
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
	if _, err := io.WriteString(c.conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		c.finish(up, failed(ConnectFailed, "the client went away"))
		return
	}
	c.finish(up, c.tunnel(up))
}
