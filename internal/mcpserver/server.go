// Package mcpserver is the door for agents: the tools for runs, and for git where
// the policy registers it, over the Model Context Protocol on a pair of streams, or
// carried by something else, as package streamable does by HTTP.
//
// A tool call is decoded strictly, handed to one verb of package app and
// answered with structured content and the same JSON as text. What the policy
// refuses is a tool error that carries the refusal's code, hint and suggestion,
// because models see tool errors and few clients show them protocol errors. A
// call waits at most 45 seconds, which is less than clients wait, and may be
// repeated without losing anything: the context of a call bounds the call, never
// the life of a run.
//
// # Limits
//
// The package decides nothing: whether a principal may do a thing is asked of the
// verbs. It starts nothing, keeps no output, opens no file and speaks no HTTP.
package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/app"
	"paddock/internal/app/plans"
	"paddock/internal/git"
	"paddock/internal/mcpserver/answer"
	"paddock/internal/mcpserver/background"
	"paddock/internal/mcpserver/texts"
	"paddock/internal/mcpserver/trees"
	"paddock/internal/mcpserver/wire"
	"paddock/internal/mcpserver/wire/ndjson"
)

const (
	// maxLine is the most bytes of one message; longer ones are answered with
	// an error and not kept.
	maxLine = 4 << 20
	// maxCalls is how many tool calls may be under way on one connection.
	maxCalls = 256
)

// What becomes of a connection's runs when it ends.
const (
	Keep = "keep"
	Kill = "kill"
)

// Verbs is what the tools need of package app.
type Verbs interface {
	Start(ctx context.Context, req paddock.Request) (paddock.Run, error)
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Wait(ctx context.Context, p paddock.Principal, id paddock.RunID, wait time.Duration) (paddock.Run, error)
	Output(ctx context.Context, p paddock.Principal, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error)
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
	Shutdown(ctx context.Context, p paddock.Principal, ids []paddock.RunID) error
	List(ctx context.Context, p paddock.Principal, f app.Filter) (app.Listing, error)
	Counters(ctx context.Context, p paddock.Principal) (app.Counters, error)
	Git(ctx context.Context, ask git.Ask) (git.Answer, error)
	Approval(ctx context.Context, p paddock.Principal, id paddock.ApprovalID) (paddock.Approval, error)
	Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error)
	plans.Verbs
}

var _ Verbs = (*app.App)(nil)

// A Config says whom a connection serves and with what.
type Config struct {
	// App does the work. It may be nil only when PolicyProblem says why.
	App Verbs
	// Principal is in whose name every call is made. The zero Principal is refused.
	Principal paddock.Principal
	// OnDisconnect is Keep, which is also what "" means, or Kill: when the
	// connection ends, for whatever reason, the runs that were started through
	// it are ended. Runs of the same principal from earlier or other
	// connections, also ones found again by their idempotency key, go on.
	OnDisconnect string
	// Version is shown to clients.
	Version string
	// PolicyProblem, when not nil, is asked before every call. What it returns
	// answers the call in place of the tool; nil lets the tool work.
	PolicyProblem func() *paddock.Refusal
	// PolicyNotice, when not nil, says what is wrong with the policy though it holds;
	// empty where nothing is. It is beside the results of the tools for runs.
	PolicyNotice func() string
	// Words returns the words that the policy permits as argv[0], for the
	// description of run_command_bg. Nil means that none are named.
	Words func() []string
	// Git says whether the policy registers git, so that its tools are listed; nil
	// means that it doesn't.
	Git func() bool
	// Delegates says whether the policy lets agents be started, likewise.
	Delegates func() bool
	// Workspace is the directory in which a command starts that names a workspace, or
	// names none; nil means that there are none.
	Workspace func(ctx context.Context, name string) (string, error)
	// Trees are the worktrees of workspaces, likewise.
	Trees trees.Trees
	// Tools are the names of those that there are; nil means all.
	Tools []string
	// Delegate is the id of the delegate that this serves; empty serves none.
	Delegate string
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log receives faults in full, which callers never see; nil means
	// slog.Default, which must not write to the stream that clients read.
	Log *slog.Logger
}

// A session is one connection. Its methods are called concurrently.
type session struct {
	Config
	began time.Time
	calls chan struct{} // one token per tool call under way

	// life ends when Serve's context does: every call ends with it.
	life context.Context
	// gone is closed when the client has closed its side: waits end with it,
	// and what they found is still answered.
	gone chan struct{}

	asking sync.WaitGroup // elicitations, which end with the connection

	mu      sync.Mutex
	started []paddock.RunID // through this connection; kept only for Kill
	workers []string        // delegates, likewise
}

// Serve answers the client that writes to in and reads from out until it closes
// its side or ctx ends, and closes both. It returns nil when the client left
// and ctx's error when ctx ended it. Runs go on unless cfg says otherwise.
func Serve(ctx context.Context, cfg Config, in io.ReadCloser, out io.WriteCloser) error {
	s, err := newSession(ctx, cfg)
	if err != nil {
		return errors.Join(err, in.Close(), out.Close())
	}
	server := s.server()
	conn, err := server.Connect(ctx, &ndjson.Transport{
		In: in, Out: out, MaxLine: maxLine, Log: s.Log,
		Gone: s.leave, ToolError: ToolError,
	}, nil)
	if err != nil {
		return fmt.Errorf("%w: connecting: %w", paddock.ErrFault, err)
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		if err := conn.Close(); err != nil {
			s.Log.Warn("closing the connection", "err", err)
		}
	})
	err = conn.Wait()
	if !stop() {
		<-closed
		err = ctx.Err()
	}
	s.end(context.WithoutCancel(ctx))
	return err
}

// Open is Serve for what something else carries: it makes what answers, which ends with
// ctx. The client has left when gone is called; end returns when that is dealt with.
func Open(ctx context.Context, cfg Config) (server *mcp.Server, gone, end func(), err error) {
	s, err := newSession(ctx, cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	return s.server(), s.leave, func() { s.end(context.WithoutCancel(ctx)) }, nil
}

// ToolError is the result of a tool call whose message can't be accepted.
func ToolError(why string) any {
	return answer.Refused(paddock.Refused(paddock.InvalidRequest, "%s", why))
}

// server has the tools that there are for this session.
func (s *session) server() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "paddock", Title: "Paddock", Version: s.Version},
		&mcp.ServerOptions{
			Instructions: texts.Instructions,
			Capabilities: background.Capabilities(&mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, s.Tools),
			Logger:       slog.New(wire.Warnings{Handler: s.Log.Handler()}),
		})
	for _, t := range slices.Concat(s.tools(), s.planTools(), s.delegateTools(), s.gitTools(), s.treeTools()) {
		if s.Tools == nil || slices.Contains(s.Tools, t.Name) {
			server.AddTool(t.Tool, t.handler)
		}
	}
	background.Serve(server, background.Config{Verbs: s.App, Principal: s.Principal, Tools: s.Tools, Ended: s.ended, Log: s.Log})
	return server
}

// leave is called when the client has left.
func (s *session) leave() { close(s.gone) }

func newSession(ctx context.Context, cfg Config) (*session, error) {
	if cfg.Principal.Kind == "" || cfg.Principal.ID == "" {
		return nil, paddock.Refused(paddock.Forbidden, "a connection must have a principal")
	}
	if cfg.App == nil && cfg.PolicyProblem == nil {
		return nil, fmt.Errorf("%w: a connection without verbs and without a reason for it", paddock.ErrFault)
	}
	switch cfg.OnDisconnect {
	case "":
		cfg.OnDisconnect = Keep
	case Keep, Kill:
	default:
		return nil, paddock.Refused(paddock.InvalidRequest, "on-disconnect is %q; want %q or %q", cfg.OnDisconnect, Keep, Kill)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Words == nil {
		cfg.Words = func() []string { return nil }
	}
	if cfg.Git == nil {
		cfg.Git = func() bool { return false }
	}
	return &session{Config: cfg, began: cfg.Now(), calls: make(chan struct{}, maxCalls), life: ctx, gone: make(chan struct{})}, nil
}

// remember notes a run for the end of the connection, if it was made by it.
func (s *session) remember(run paddock.Run) {
	if s.OnDisconnect != Kill || run.State.Settled() || run.CreatedAt.Before(s.began) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, run.ID)
}

// end ends the runs of this connection, if that is wanted, and returns when
// they are settled: at most their grace period later, for each 64 of them.
func (s *session) end(ctx context.Context) {
	s.asking.Wait()
	s.mu.Lock()
	ids, workers := s.started, s.workers
	s.mu.Unlock()
	for _, id := range workers {
		if _, err := s.App.CancelDelegate(ctx, s.Principal, id, "its caller's connection ended"); err != nil {
			s.Log.Error("ending a delegate at the end of its connection", "err", err)
		}
	}
	if len(ids) == 0 {
		return
	}
	if err := s.App.Shutdown(ctx, s.Principal, ids); err != nil {
		s.Log.Error("ending runs at the end of their connection", "err", err)
	}
}
