package control

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"paddock/internal/control/peer"
	"paddock/internal/control/wire"
)

const (
	helloTime = 10 * time.Second       // in which a peer must have said hello
	flushTime = 250 * time.Millisecond // for the last events of a connection that we end
	maxConns  = 4096
)

// Serve answers the connections of l until ctx ends, then closes l, sends what
// events are ready and returns nil when every goroutine of its own is gone. A
// peer must be of our user or root and say hello with token first.
func Serve(ctx context.Context, l net.Listener, h Handler, token string) error {
	if token == "" {
		return errors.New("control: no token, and so nobody could be let in")
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close() // again, to wait for it
	var conns sync.WaitGroup
	defer conns.Wait()
	room := make(chan struct{}, maxConns)
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if isShortage(err) {
			// Out of descriptors: others will close some.
			pause(ctx, 20*time.Millisecond)
			continue
		}
		if err != nil {
			return fmt.Errorf("control: %w", err)
		}
		select {
		case room <- struct{}{}:
		default:
			refuse(conn, wire.Fault(wire.TooMany, "too many connections"))
			continue
		}
		conns.Go(func() {
			defer func() { <-room }()
			// What one peer does wrong is told to it and is no fault of Serve.
			_ = newSession(conn, h).serve(ctx, token)
		})
	}
}

// ServeConn answers a connection whose peer needs no hello, until the peer is
// gone (nil), ctx ends (its error) or the connection fails. It closes conn.
func ServeConn(ctx context.Context, conn net.Conn, h Handler) error {
	return newSession(conn, h).serve(ctx, "")
}

// ServeStarter is ServeConn for who started us. One who follows is told events without having
// asked: to ask and to answer would take our time while the run is made ready.
func ServeStarter(ctx context.Context, conn net.Conn, h Handler, follows bool) error {
	s := newSession(conn, h)
	if follows {
		s.listen()
		s.events.Go(s.tell)
	}
	return s.serve(ctx, "")
}

func isShortage(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ECONNABORTED)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// refuse tells the peer why, if it listens, and ends the conversation.
func refuse(conn net.Conn, e *Error) {
	if line, err := wire.Encode(wire.Reply{Error: e}); err == nil {
		conn.SetWriteDeadline(time.Now().Add(flushTime))
		_, _ = conn.Write(line) // who went away is told by its end
	}
	conn.Close()
}

// A session is one connection of a client.
type session struct {
	conn  net.Conn
	h     Handler
	peer  func(net.Conn) (uint32, error) // peer.UID but for tests
	lines *wire.Lines

	writing sync.Mutex    // one line at a time
	told    chan Event    // of the subscription; nil when there is none
	stop    chan struct{} // closed when no more requests are read
	events  sync.WaitGroup
}

func newSession(conn net.Conn, h Handler) *session {
	return &session{conn: conn, h: h, peer: peer.UID, lines: wire.NewLines(conn), stop: make(chan struct{})}
}

// serve wants a hello unless token is empty, and answers until the end.
func (s *session) serve(ctx context.Context, token string) error {
	defer s.conn.Close()
	unwatch := context.AfterFunc(ctx, s.endReading)
	defer unwatch()
	var err error
	if token != "" {
		err = s.hello(ctx, token)
	}
	for err == nil {
		err = s.answer()
	}
	close(s.stop)
	// A peer that doesn't read mustn't hold us: what can't be sent now isn't.
	s.conn.SetWriteDeadline(time.Now().Add(flushTime))
	s.events.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return nil
	}
	return fmt.Errorf("control: %w", err)
}

var past = time.Unix(1, 0)

func (s *session) endReading() {
	s.conn.SetReadDeadline(past)
	s.conn.SetWriteDeadline(time.Now().Add(flushTime))
}

// hello lets the peer in or tells it why not.
func (s *session) hello(ctx context.Context, token string) error {
	uid, err := s.peer(s.conn)
	if err != nil {
		return err
	}
	if !peer.Trusted(uid, uint32(os.Geteuid())) {
		return s.refuse(wire.Fault(wire.Unauthorized, "this run belongs to another user"))
	}
	s.conn.SetReadDeadline(time.Now().Add(helloTime))
	line, err := s.lines.Next(wire.MaxHello)
	if errors.Is(err, wire.ErrTooLong) {
		return s.refuse(wire.Fault(wire.Malformed, "%v", err))
	}
	if err != nil {
		return err
	}
	r, bad := wire.DecodeRequest(line)
	switch {
	case bad != nil:
		return s.refuse(bad)
	case r.Verb != wire.VerbHello:
		return s.refuse(wire.Fault(wire.Unauthorized, "say hello first"))
	case r.Protocol != Protocol:
		return s.refuse(wire.Fault(wire.Mismatch, "this supervisor speaks protocol %d, not %d", Protocol, r.Protocol))
	case subtle.ConstantTimeCompare([]byte(r.Token), []byte(token)) != 1:
		return s.refuse(wire.Fault(wire.Unauthorized, "the token is wrong"))
	}
	s.conn.SetReadDeadline(time.Time{})
	if ctx.Err() != nil { // it may have set a deadline that we have just taken off
		s.endReading()
	}
	return s.send(wire.Reply{ID: r.ID, OK: true, Protocol: Protocol})
}

func (s *session) refuse(e *Error) error {
	return errors.Join(e, s.send(wire.Reply{Error: e}))
}

// answer reads one request and answers it.
func (s *session) answer() error {
	line, err := s.lines.Next(wire.MaxLine)
	if errors.Is(err, wire.ErrTooLong) {
		return s.refuse(wire.Fault(wire.Malformed, "%v", err))
	}
	if err != nil {
		return err
	}
	r, bad := wire.DecodeRequest(line)
	out := wire.Reply{ID: r.ID}
	if bad == nil {
		bad = s.do(r, &out)
	}
	if out.OK = bad == nil; !out.OK {
		out = wire.Reply{ID: r.ID, Error: bad}
	}
	err = s.send(out)
	if out.OK && r.Verb == wire.VerbSubscribe {
		s.events.Go(s.tell) // after the answer, and also when that failed: the listener mustn't wait
	}
	return err
}

// do carries r out and completes the reply to it.
func (s *session) do(r wire.Request, out *wire.Reply) *Error {
	if r.Kill != nil != (r.Verb == wire.VerbKill) || r.Typed != nil && r.Verb != wire.VerbStdin || r.Renewal != nil && r.Verb != wire.VerbRenew || r.Verb != wire.VerbHello && (r.Protocol != 0 || r.Token != "") {
		return wire.Fault(wire.Malformed, "the fields aren't those of verb %q", r.Verb)
	}
	switch r.Verb {
	case wire.VerbStatus:
		status := s.h.Status()
		out.Status = &status
	case wire.VerbKill:
		if err := r.Kill.Check(); err != nil {
			return wire.Fault(wire.Malformed, "%v", err)
		}
		if err := s.h.Kill(*r.Kill); err != nil {
			return wire.Failure(err)
		}
	case wire.VerbRenew:
		until := time.Duration(0)
		if r.Renewal != nil {
			until = time.Duration(r.Renewal.Until)
		}
		if err := s.h.Renew(until); err != nil {
			return wire.Failure(err)
		}
	case wire.VerbStdin:
		return s.typed(r.Typed)
	case wire.VerbSubscribe:
		if s.told != nil {
			return wire.Fault(wire.TooMany, "this connection is subscribed already")
		}
		s.listen()
	case wire.VerbHello:
		return wire.Fault(wire.Malformed, "hello comes first and once")
	default:
		return wire.Fault(wire.UnknownVerb, "unknown verb %q", r.Verb)
	}
	return nil
}

// typed has the handler type, if it has a terminal.
func (s *session) typed(t *wire.Typed) *Error {
	typist, ok := s.h.(Typist)
	if !ok || t == nil {
		return wire.Fault(wire.Unsupported, "standard input can't be written to in this version")
	}
	if wrong := t.Wrong(); wrong != "" {
		return wire.Fault(wire.Malformed, "%s", wrong)
	}
	if err := typist.Type(*t); err != nil {
		return wire.Failure(err)
	}
	return nil
}

// listen takes the handler's events from now on. Its goroutine never writes, so
// that a peer which doesn't read can't hold the supervisor up.
func (s *session) listen() {
	s.told = make(chan Event)
	in, cancel := s.h.Subscribe()
	s.events.Go(func() {
		defer close(s.told)
		left := wire.Relay(in, s.told, s.stop)
		cancel()
		for _, e := range left {
			s.told <- e
		}
	})
}

// tell sends what listen hears.
func (s *session) tell() {
	broken := false
	for e := range s.told {
		if broken {
			continue // so that the listener isn't left waiting
		}
		if err := s.send(wire.Reply{Event: &e}); err != nil {
			broken = true
			s.conn.Close() // which ends the reading too
		}
	}
}

func (s *session) send(r wire.Reply) error {
	line, err := wire.Encode(r)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.conn.Write(line)
	return err
}
