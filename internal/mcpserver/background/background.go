// Package background is the tasks extension of MCP: to clients that know it a command
// is a task, which they follow by themselves while the model does something else.
//
// A task is a run and has its id, so there is nothing more to keep: tasks/get looks at
// the run, as long as it is kept, in whatever session, by whoever it belongs to, after
// a restart too; tasks/cancel ends it. Which clients know the extension is said with
// each request, from the revision 2026-07-28 on. To all others run_command_bg answers as
// ever.
//
// # Limits
//
// A task asks its client for nothing: what waits for approval is approved elsewhere.
// Clients aren't notified of tasks and look at them instead.
package background

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"paddock"
	"paddock/internal/app"
)

// Extension is the name of the extension.
const Extension = "io.modelcontextprotocol/tasks"

const (
	starts   = "run_command_bg"
	poll     = 1000 // milliseconds between two looks of a client
	revision = "2026-07-28"
	complete = "complete"
)

// Verbs is what becomes of tasks.
type Verbs interface {
	Status(ctx context.Context, p paddock.Principal, id paddock.RunID) (paddock.Run, error)
	Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error)
}

// Config says whose tasks there are.
type Config struct {
	Verbs     Verbs
	Principal paddock.Principal
	// Tools are those that there are; nil means all.
	Tools []string
	// Ended is what run_command_bg answers when the run has ended.
	Ended func(ctx context.Context, run paddock.Run) (*mcp.CallToolResult, error)
	Log   *slog.Logger
}

// has reports whether there is a tool.
func has(tools []string, name string) bool { return tools == nil || slices.Contains(tools, name) }

// Capabilities adds the extension to what a server says of itself, if there are tasks.
func Capabilities(to *mcp.ServerCapabilities, tools []string) *mcp.ServerCapabilities {
	if has(tools, starts) {
		to.AddExtension(Extension, map[string]any{})
	}
	return to
}

// A task is what clients are told of a run.
type task struct {
	mcp.ResultBase
	Type    string        `json:"resultType"`
	ID      paddock.RunID `json:"taskId"`
	Status  string        `json:"status"`
	Message string        `json:"statusMessage,omitzero"`
	Created time.Time     `json:"createdAt"`
	Updated time.Time     `json:"lastUpdatedAt"`
	// TTL is null: how long runs are kept is for the policy to say.
	TTL    *int64              `json:"ttlMs"`
	Poll   int64               `json:"pollIntervalMs"`
	Result *mcp.CallToolResult `json:"result,omitzero"`
}

// done is an answer with nothing in it.
type done struct {
	mcp.ResultBase
	Type string `json:"resultType"`
}

type params struct {
	mcp.ParamsBase
	ID string `json:"taskId"`
}

// Serve has server make tasks of runs and answer what is asked of them.
func Serve(server *mcp.Server, cfg Config) {
	if !has(cfg.Tools, starts) || cfg.Verbs == nil {
		return
	}
	server.AddReceivingMiddleware(cfg.create)
	for _, err := range []error{
		mcp.AddReceivingCustomMethod(server, "tasks/get", guarded(cfg, cfg.get)),
		mcp.AddReceivingCustomMethod(server, "tasks/update", guarded(cfg, cfg.update)),
		mcp.AddReceivingCustomMethod(server, "tasks/cancel", guarded(cfg, cfg.cancel)),
	} {
		if err != nil {
			panic(err) // of the names alone, so every test sees it
		}
	}
}

// guarded makes a fault of a panic: one bad request must not take others along.
func guarded[R any](cfg Config, f func(context.Context, *mcp.ServerSession, *params) (R, error)) func(context.Context, *mcp.ServerSession, *params) (R, error) {
	return func(ctx context.Context, s *mcp.ServerSession, in *params) (out R, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = cfg.wrong("a panic", fmt.Errorf("%w: %v\n%s", paddock.ErrFault, r, debug.Stack()))
			}
		}()
		return f(ctx, s, in)
	}
}

// create answers a start with the task that it is, to clients that know the extension.
func (cfg Config) create(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		call, ok := req.(*mcp.CallToolRequest)
		if err != nil || !ok || call.Params.Name != starts || !knows(call.Session, call.Params.GetMeta()) {
			return result, err
		}
		started, ok := result.(*mcp.CallToolResult)
		if !ok || started.IsError || started.StructuredContent == nil {
			return result, nil
		}
		var of struct {
			ID paddock.RunID `json:"taskId"`
		}
		text, err := json.Marshal(started.StructuredContent)
		if err == nil {
			err = json.Unmarshal(text, &of)
		}
		var run paddock.Run
		if err == nil {
			run, err = cfg.Verbs.Status(ctx, cfg.Principal, of.ID)
		}
		if err != nil { // it was started: the answer without a task is true as well
			cfg.Log.Error("making a task of a run", "run", string(of.ID), "err", err)
			return result, nil
		}
		if run.State.Settled() {
			return result, nil
		}
		return newTask("task", run), nil
	}
}

// newTask shows a run that may still go on.
func newTask(kind string, run paddock.Run) *task {
	t := &task{Type: kind, ID: run.ID, Status: "working", Created: run.CreatedAt, Updated: run.CreatedAt, Poll: poll}
	if run.StartedAt != nil {
		t.Updated = *run.StartedAt
	}
	if run.State == paddock.Waiting {
		t.Message = "A person must approve this before it starts: paddock approve show " + string(run.Approval)
	}
	if o := run.Outcome; o != nil {
		t.Updated = o.SettledAt
	}
	return t
}

// get is tasks/get.
func (cfg Config) get(ctx context.Context, s *mcp.ServerSession, in *params) (*task, error) {
	run, err := cfg.find(ctx, s, in)
	if err != nil {
		return nil, err
	}
	t := newTask(complete, run)
	switch {
	case !run.State.Settled():
	case run.State == paddock.Killed && run.Outcome != nil && run.Outcome.Reason.Kind == paddock.ReasonKill:
		t.Status, t.Message = "cancelled", run.Outcome.Reason.Why
	default:
		t.Status = "completed"
		if t.Result, err = cfg.Ended(ctx, run); err != nil {
			return nil, cfg.wrong("telling how a task ended", err)
		}
	}
	return t, nil
}

// update is tasks/update. No task ever asks for input, so what comes is for none.
func (cfg Config) update(ctx context.Context, s *mcp.ServerSession, in *params) (*done, error) {
	if _, err := cfg.find(ctx, s, in); err != nil {
		return nil, err
	}
	return &done{Type: complete}, nil
}

// cancel is tasks/cancel.
func (cfg Config) cancel(ctx context.Context, s *mcp.ServerSession, in *params) (*done, error) {
	run, err := cfg.find(ctx, s, in)
	if err != nil {
		return nil, err
	}
	if run.State.Settled() {
		return &done{Type: complete}, nil
	}
	if !has(cfg.Tools, "command_kill") {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "This client may not end tasks."}
	}
	if _, err := cfg.Verbs.Kill(ctx, cfg.Principal, run.ID, app.KillRequest{Reason: "canceled by the client", NoWait: true}); err != nil {
		return nil, cfg.wrong("canceling a task", err)
	}
	return &done{Type: complete}, nil
}

// find is the run of a task that the client may look at.
func (cfg Config) find(ctx context.Context, s *mcp.ServerSession, in *params) (run paddock.Run, err error) {
	if in == nil || !knows(s, in.GetMeta()) {
		return run, &jsonrpc.Error{
			Code: mcp.CodeMissingRequiredClientCapabilities, Message: "Tasks are for clients that say that they know " + Extension + ".",
			Data: []byte(`{"requiredCapabilities":{"extensions":{"` + Extension + `":{}}}}`),
		}
	}
	id, err := paddock.ParseRunID(in.ID)
	if err == nil {
		run, err = cfg.Verbs.Status(ctx, cfg.Principal, id)
	}
	if r, ok := errors.AsType[*paddock.Refusal](err); ok && r.Code == paddock.NotFound || id == "" {
		return run, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such task of yours."}
	}
	if err != nil {
		return run, cfg.wrong("looking at a task", err)
	}
	return run, nil
}

// wrong is an error as clients may see it: a refusal, or that something is our fault.
func (cfg Config) wrong(what string, err error) error {
	if r, ok := errors.AsType[*paddock.Refusal](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("%s (%s) %s", r.Message, r.Code, r.Hint)}
	}
	cfg.Log.Error(what, "err", err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Paddock failed by a fault of its own; the server's log says how."}
}

// knows reports whether the client says that it knows the extension, with this request.
func knows(s *mcp.ServerSession, meta map[string]any) bool {
	hello := s.InitializeParams()
	if hello == nil || hello.ProtocolVersion < revision {
		return false
	}
	can, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	known, _ := can["extensions"].(map[string]any)
	_, ok := known[Extension]
	return ok
}
