package streamable

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/mcpserver/wire/streamable/reply"
)

// A session is what a client began by initialize. Its fields below mu are guarded by
// the door's mutex.
type session struct {
	Opened
	owner, scope string
	cancel       context.CancelFunc // ends what answers

	id    string // once the client is told
	inner *mcp.ServerSession
	users int // requests under way
	last  time.Time

	finish sync.Once

	mu      sync.Mutex
	streams map[string]*following // what is listened to, by what it continues
}

// greet answers the message that begins a session.
func (d *Door) greet(a *reply.Answer, r *http.Request, c Caller, m message) *reply.Fault {
	if m.batch || m.env.Method() != "initialize" || !m.env.ID().IsValid() {
		return &reply.Fault{Status: http.StatusBadRequest, Code: jsonrpc.CodeInvalidRequest, Message: "Outside of a session there is only initialize; its answer has the header " + sessionHeader + " to show from then on."}
	}
	s := &session{owner: c.Owner, scope: c.Scope, users: 1, last: d.cfg.Now(), streams: map[string]*following{}}
	if !d.room(s) {
		return reply.Later(http.StatusTooManyRequests, "Too many sessions are in use. End one by DELETE.")
	}
	defer d.running.Done()
	ctx, cancel := context.WithCancel(d.life)
	s.cancel = cancel
	var err error
	if s.Opened, err = c.Open(ctx, ""); err != nil {
		d.forget(s)
		cancel()
		return d.broken("opening", err)
	}
	a.First = func(h http.Header) { d.told(s, h.Get(sessionHeader)) }
	d.held.ServeHTTP(a, with(r, s.Server))
	d.release(s)
	if d.nobodyKnows(s) {
		d.over(s)
	} else if d.life.Err() != nil {
		d.finish(s)
	}
	return nil
}

// nobodyKnows reports whether the library refused what should have begun a session.
func (d *Door) nobodyKnows(s *session) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return s.inner == nil
}

// room makes place for a session, if need be by ending the one of the same owner that
// was used the longest ago. What it counts as running is done when the client is told.
func (d *Door) room(s *session) bool {
	for {
		d.mu.Lock()
		own := d.owned[s.owner]
		if d.life.Err() == nil && len(own) < d.cfg.Sessions && d.begun < d.cfg.AllSessions {
			d.owned[s.owner] = append(own, s)
			d.begun++
			d.running.Add(1)
			d.mu.Unlock()
			return true
		}
		var oldest *session
		for _, one := range own {
			if one.users == 0 && (oldest == nil || one.last.Before(oldest.last)) {
				oldest = one
			}
		}
		d.mu.Unlock()
		if oldest == nil || d.life.Err() != nil {
			return false
		}
		d.finish(oldest)
	}
}

// told makes a session known by the id that its client is about to be told.
func (d *Door) told(s *session, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if id == "" || s.inner != nil {
		return
	}
	for inner := range s.Server.Sessions() {
		s.id, s.inner = id, inner
	}
	if s.inner == nil {
		return
	}
	d.sessions[id] = s
	d.running.Go(func() {
		_ = s.inner.Wait() // however it ended
		d.over(s)
	})
}

// find is the session of that id, if it is c's; release it.
func (d *Door) find(id string, c Caller) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[id]
	if s == nil || s.owner != c.Owner || s.scope != c.Scope {
		return nil
	}
	s.users++
	return s
}

func (d *Door) release(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.users--
	s.last = d.cfg.Now()
}

// forget takes a session out of everything that it is found by.
func (d *Door) forget(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.id != "" {
		delete(d.sessions, s.id)
	}
	own := d.owned[s.owner]
	if at := slices.Index(own, s); at >= 0 {
		d.begun--
		if own = slices.Delete(own, at, at+1); len(own) > 0 {
			d.owned[s.owner] = own
		} else {
			delete(d.owned, s.owner)
		}
	}
}

// finish ends a session: nobody finds it any more when it returns.
func (d *Door) finish(s *session) {
	d.forget(s)
	d.mu.Lock()
	inner := s.inner
	d.mu.Unlock()
	if inner == nil {
		s.cancel() // it isn't begun yet, and ends when it is
		return
	}
	d.over(s)
	if err := inner.Close(); err != nil {
		d.cfg.Log.Warn("MCP over HTTP: ending a session", "err", err)
	}
}

// over is what is left to do for a session that has ended or is about to.
func (d *Door) over(s *session) {
	d.forget(s)
	s.finish.Do(func() {
		s.Gone()
		s.cancel()
		s.End()
	})
}

// sweep ends sessions that nobody used for long.
func (d *Door) sweep() {
	tick, stop := d.cfg.Tick(sweepEvery)
	defer stop()
	for {
		select {
		case <-d.life.Done():
			return
		case <-tick:
			d.endIdle()
		}
	}
}

func (d *Door) endIdle() {
	now := d.cfg.Now()
	var idle []*session
	d.mu.Lock()
	for _, s := range d.sessions {
		if s.users == 0 && now.Sub(s.last) >= d.cfg.Idle {
			idle = append(idle, s)
		}
	}
	d.mu.Unlock()
	for _, s := range idle {
		d.finish(s)
	}
}

// A following is one GET that listens.
type following struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// follow takes a stream over from whoever listened to it before: a client whose
// connection broke comes back before we know that it did. Last is the id of the last
// event that the client knows.
func (s *session) follow(ctx context.Context, last string) (context.Context, func()) {
	stream, _, _ := strings.Cut(last, "_")
	ctx, cancel := context.WithCancel(ctx)
	mine := &following{cancel, make(chan struct{})}
	s.mu.Lock()
	before, held := s.streams[stream]
	s.streams[stream] = mine
	s.mu.Unlock()
	if held {
		before.cancel()
		<-before.done
	}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		if s.streams[stream] == mine {
			delete(s.streams, stream)
		}
		s.mu.Unlock()
		close(mine.done)
	}
}
