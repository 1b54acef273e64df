// Package streamable carries MCP over HTTP, on one path for every revision.
//
// Revisions up to 2025-11-25 have sessions: the client greets, is told an id, and shows
// it with everything that it asks. From 2026-07-28 on each request stands for itself. A
// request says which it speaks, and is passed on to the library in that way.
//
// A session belongs to who began it, with what that credential was good for: shown by
// anybody else its id is as unknown as one that never was. Sessions end when their
// client says so, when nothing was asked for a while, and with the server; one account
// has only so many of them and of requests under way. What the library says in plain
// words is told as an error of JSON-RPC, so that clients find one form.
//
// # Limits
//
// Who asks is found out before, and so are the names by which the server may be called
// and the pages that may ask a browser to. Sessions are in memory: after a restart
// clients greet again. The two paths of the revision 2024-11-05 for HTTP aren't there;
// clients of its messages are answered on this one.
package streamable

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock/internal/mcpserver/wire"
	"paddock/internal/mcpserver/wire/streamable/replay"
	"paddock/internal/mcpserver/wire/streamable/reply"
)

// Limits bound what one owner, and all together, may hold.
type Limits struct {
	// Sessions of one owner: at one more, the one that was used the longest ago ends,
	// unless something is under way in all.
	Sessions int
	// AllSessions are those of everybody.
	AllSessions int
	// Requests of one owner that are under way, streams included.
	Requests int
	// Body is the most bytes of a request.
	Body int64
	// KeptBytes and KeptAnswers are of the last answers of a session that are kept, for
	// clients that come back for them.
	KeptBytes, KeptAnswers int
	// Idle is after how long a session ends that nobody used.
	Idle time.Duration
}

// DefaultLimits are those of a server that isn't told others.
func DefaultLimits() Limits {
	return Limits{Sessions: 32, AllSessions: 4096, Requests: 256, Body: 4 << 20, KeptBytes: 1 << 20, KeptAnswers: 64, Idle: time.Hour}
}

const sweepEvery = time.Minute

// Config says how a Door serves. Only Tick and Log may be left out.
type Config struct {
	Limits
	// ToolError makes the result of a tool call whose message can't be accepted: models
	// see those.
	ToolError func(message string) any
	Log       *slog.Logger
	Now       func() time.Time
	// Tick gives heartbeats; nil means a time.Ticker.
	Tick func(time.Duration) (<-chan time.Time, func())
}

// An Opened is what answers one session, or one request that has none.
type Opened struct {
	Server *mcp.Server
	// Gone is called once when the client has left, End once when everything has ended.
	Gone, End func()
}

// A Caller is who asks, as far as it matters here.
type Caller struct {
	// Owner is whose limits count. A session is found by the same Owner with the same
	// Scope alone.
	Owner, Scope string
	// Still reports whether the credential is good for as much as it was; it is asked
	// while streams are open. Nil means that it is.
	Still func() error
	// Open makes what answers; it ends with ctx. Only, where it isn't empty, is the name of
	// the one tool that will be asked for, so that no others need be made.
	Open func(ctx context.Context, only string) (Opened, error)
}

// A Door answers the requests of MCP clients.
type Door struct {
	cfg    Config
	life   context.Context
	end    context.CancelFunc
	held   *mcp.StreamableHTTPHandler // what has sessions
	single *mcp.StreamableHTTPHandler // what stands for itself

	running sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session // by id
	owned    map[string][]*session
	begun    int            // sessions of everybody
	busy     map[string]int // requests under way, by owner
}

// New returns a Door; Close, or the end of ctx, ends its sessions.
func New(ctx context.Context, cfg Config) *Door {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Tick == nil {
		cfg.Tick = func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		}
	}
	d := &Door{cfg: cfg, sessions: map[string]*session{}, owned: map[string][]*session{}, busy: map[string]int{}}
	d.life, d.end = context.WithCancel(ctx)
	log := slog.New(wire.Warnings{Handler: cfg.Log.Handler()})
	// Whether the name is ours and the origin is known was looked at before.
	d.held = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Logger: log, EventStore: replay.New(cfg.KeptBytes, cfg.KeptAnswers), MaxRequestBodyBytes: cfg.Body, DisableLocalhostProtection: true,
	})
	d.single = mcp.NewStreamableHTTPHandler(serverOf, &mcp.StreamableHTTPOptions{
		Logger: log, Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: cfg.Body, DisableLocalhostProtection: true,
	})
	d.running.Go(d.sweep)
	return d
}

// serverOf is what was opened for a request.
func serverOf(r *http.Request) *mcp.Server {
	s, _ := r.Context().Value(serverKey{}).(*mcp.Server)
	return s
}

type serverKey struct{}

// with is r for the library, to be answered by server.
func with(r *http.Request, server *mcp.Server) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), serverKey{}, server))
}

// Close ends all sessions and streams. Whoever comes later is told that we are closing.
func (d *Door) Close() {
	d.mu.Lock()
	d.end()
	var all []*session
	for _, some := range d.owned {
		all = append(all, some...)
	}
	d.mu.Unlock()
	for _, s := range all {
		d.finish(s)
	}
	d.running.Wait()
}

// Serve answers one request of c.
func (d *Door) Serve(w http.ResponseWriter, r *http.Request, c Caller) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	a := reply.NewAnswer(w)
	if !d.enter(c.Owner) {
		a.Fail(reply.Later(http.StatusTooManyRequests, "Too many requests are under way."))
		return
	}
	defer d.leave(c.Owner)
	defer a.Beat(ctx, cancel, d.cfg.Tick, c.Still)()
	var f *reply.Fault
	switch r = r.WithContext(ctx); {
	case d.life.Err() != nil:
		f = reply.Later(http.StatusServiceUnavailable, "The server is closing. Come back soon.")
	case r.Method == http.MethodPost:
		f = d.post(a, r, c)
	case r.Method == http.MethodGet || r.Method == http.MethodDelete:
		f = d.get(a, r, c)
	default:
		f = reply.NoMethod("Send messages by POST.", "GET, POST, DELETE")
	}
	if f != nil {
		a.Fail(f)
	}
}

// enter counts a request; false means that its owner has too many under way.
func (d *Door) enter(owner string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[owner] >= d.cfg.Requests {
		return false
	}
	d.busy[owner]++
	return true
}

func (d *Door) leave(owner string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[owner]--; d.busy[owner] == 0 {
		delete(d.busy, owner)
	}
}

// post answers a message, or a few.
func (d *Door) post(a *reply.Answer, r *http.Request, c Caller) *reply.Fault {
	if f := headers(r); f != nil {
		return f
	}
	if f := wantsPost(r); f != nil {
		return f
	}
	m, f := read(r, d.cfg.Body)
	a.ID = m.env.ID()
	if err := a.Control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return d.broken("a request's time to arrive", err)
	}
	if m.single {
		if f != nil {
			return d.forModel(f, m)
		}
		if f = routed(r, m); f != nil {
			return f
		}
		return d.once(a, r, c, m.tool)
	}
	id := r.Header.Get(sessionHeader)
	if id == "" {
		if f == nil {
			f = d.greet(a, r, c, m)
		}
		return f
	}
	s := d.find(id, c)
	if s == nil {
		return reply.UnknownSession()
	}
	defer d.release(s)
	if f != nil {
		return d.forModel(f, m)
	}
	if m.batch || m.env.ID().IsValid() {
		a.Streams()
	}
	d.held.ServeHTTP(a, with(r, s.Server))
	return nil
}

// forModel makes of what is wrong with a tool call a tool's error: models see those, and
// few clients show them errors of the protocol.
func (d *Door) forModel(f *reply.Fault, m message) *reply.Fault {
	if m.env.Method() == wire.ToolCall && m.env.ID().IsValid() {
		return &reply.Fault{Status: http.StatusOK, Result: d.cfg.ToolError(f.Message), Complete: m.single}
	}
	return f
}

// once answers a request that stands for itself.
func (d *Door) once(a *reply.Answer, r *http.Request, c Caller, tool string) *reply.Fault {
	o, err := c.Open(r.Context(), tool)
	if err != nil {
		return d.broken("opening", err)
	}
	defer o.End()
	defer o.Gone()
	if a.ID.IsValid() {
		a.Streams()
	}
	d.single.ServeHTTP(a, with(r, o.Server))
	return nil
}

// get is what concerns a session and is no Message: its stream, and its end.
func (d *Door) get(a *reply.Answer, r *http.Request, c Caller) *reply.Fault {
	if f := headers(r); f != nil {
		return f
	}
	if r.Header.Get(versionHeader) >= single {
		return reply.NoMethod("From "+single+" on there are no sessions; send messages by POST.", "POST")
	}
	if r.Method == http.MethodGet && !accepts(r, "text/event-stream") {
		return reply.NotAcceptable("text/event-stream")
	}
	id := r.Header.Get(sessionHeader)
	if id == "" {
		return &reply.Fault{Status: http.StatusBadRequest, Code: jsonrpc.CodeInvalidRequest, Message: "The header " + sessionHeader + " is missing; the answer to initialize has it."}
	}
	s := d.find(id, c)
	if s == nil {
		return reply.UnknownSession()
	}
	defer d.release(s)
	if r.Method == http.MethodDelete {
		d.finish(s)
		a.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := a.Control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return d.broken("a stream's time", err)
	}
	ctx, done := s.follow(r.Context(), r.Header.Get(lastHeader))
	defer done()
	a.Streams()
	d.held.ServeHTTP(a, with(r.WithContext(ctx), s.Server))
	return nil
}

// broken says that something is our fault.
func (d *Door) broken(what string, err error) *reply.Fault {
	d.cfg.Log.Error("MCP over HTTP: "+what, "err", err)
	return &reply.Fault{Status: http.StatusInternalServerError, Code: jsonrpc.CodeInternalError, Message: "Something is wrong on our side. The server's log says what."}
}
