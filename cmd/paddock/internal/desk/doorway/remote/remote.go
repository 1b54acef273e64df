// Package remote is the MCP server of `paddock serve`: the tools of the command line's,
// for whoever showed a token, as far as that is good for them.
//
// A tool wants the verb that the same deed wants everywhere. Who may not isn't told of
// the tool. Since a session is found again only with the same tools, a token that may
// less doesn't get at what one that may more began.
//
// A token that is for some workspaces alone has the tools for runs, which start there and
// show what runs there; all others are closed to it.
//
// # Limits
//
// Who asks was found out before. How MCP is carried, and for how long sessions last, is
// package streamable's.
package remote

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/doorway"
	"paddock/internal/app"
	"paddock/internal/auth"
	"paddock/internal/httpapi/entry"
	"paddock/internal/httpapi/entry/gate"
	"paddock/internal/httpapi/entry/gate/narrow"
	"paddock/internal/mcpserver"
	"paddock/internal/mcpserver/wire/streamable"
)

// Verbs are those of tools, and what must be known to hold them to workspaces.
type Verbs interface {
	mcpserver.Verbs
	narrow.House
}

// A Server answers MCP clients over HTTP.
type Server struct {
	config func(paddock.Principal) mcpserver.Config
	verbs  Verbs
	spaces narrow.Workspaces
	door   *streamable.Door
}

// New returns a Server; Close, or the end of ctx, ends its sessions. Spaces are where
// callers start what they start; nil means that there are no workspaces.
func New(ctx context.Context, d *desk.Desk, version string, policies doorway.Policies, verbs Verbs, spaces narrow.Workspaces, limits streamable.Limits, log *slog.Logger) *Server {
	return &Server{
		config: func(p paddock.Principal) mcpserver.Config {
			cfg := doorway.Config(d, version, policies, p)
			cfg.Log = log
			return cfg
		},
		verbs: verbs, spaces: spaces,
		door: streamable.New(ctx, streamable.Config{Limits: limits, ToolError: mcpserver.ToolError, Log: log, Now: d.Now}),
	}
}

// Close ends all sessions and streams; runs go on.
func (s *Server) Close() { s.door.Close() }

// Serve answers one request, with the tools and in the workspaces that the caller's
// credential is good for.
func (s *Server) Serve(c *entry.Call) { s.serve(c, c.Request, c.Caller, c.Still) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request, who gate.Caller, still func() error) {
	tools := tools(who.May)
	s.door.Serve(w, r, streamable.Caller{
		Owner: who.Self().ID, Scope: scope(tools, who), Still: still,
		Open: func(ctx context.Context, only string) (streamable.Opened, error) {
			cfg, tools := s.config(who.Self()), tools
			if slices.Contains(tools, only) {
				tools = []string{only}
			}
			cfg.Tools, cfg.App = tools, s.good(who)
			if s.spaces != nil {
				cfg.Workspace, cfg.Trees = placed{s.spaces, who}.path, grove{s.spaces, who}
			}
			server, gone, end, err := mcpserver.Open(ctx, cfg)
			return streamable.Opened{Server: server, Gone: gone, End: end}, err
		},
	})
}

// scope is what a session is found by beside its owner: what his credential is good for.
func scope(tools []string, who gate.Caller) string {
	scope := strings.Join(tools, " ")
	if who.Who.Narrow() {
		in := slices.Sorted(slices.Values(who.Who.Workspaces))
		scope += fmt.Sprintf(" in %q", in)
	}
	return scope
}

// good are the verbs as far as who's credential is good for them.
func (s *Server) good(who gate.Caller) mcpserver.Verbs {
	all := narrowed{s.verbs, who.May}
	if who.Who.Narrow() {
		return within{all, placed{s.spaces, who}}
	}
	return all
}

// narrowed are the verbs as far as a credential is good for what tools do on the way: a
// person at the client may take back what waits for approval, or hand in a vote.
type narrowed struct {
	Verbs
	may func(auth.Verb) bool
}

// Vote wants what bringing a vote wants at every other door.
func (n narrowed) Vote(ctx context.Context, p paddock.Principal, id paddock.ApprovalID, envelope []byte) (paddock.Approval, error) {
	if err := n.wants(auth.ApprovalsVote, "Approvers bring their votes themselves: `paddock approve yes`, or at the server's page."); err != nil {
		return paddock.Approval{}, err
	}
	return n.Verbs.Vote(ctx, p, id, envelope)
}

// Kill wants what ending a run wants at every other door.
func (n narrowed) Kill(ctx context.Context, p paddock.Principal, id paddock.RunID, req app.KillRequest) (paddock.Run, error) {
	if err := n.wants(auth.RunsKill, "Ask whoever made the token."); err != nil {
		return paddock.Run{}, err
	}
	return n.Verbs.Kill(ctx, p, id, req)
}

func (n narrowed) wants(v auth.Verb, hint string) error {
	if n.may(v) {
		return nil
	}
	r := paddock.Refused(paddock.Forbidden, "This token isn't good for %s.", v)
	r.Hint = hint
	return r
}

// tools are the names of those that may be used, in order; none, and not nil, where
// nothing may be.
func tools(may func(auth.Verb) bool) []string {
	names := []string{}
	for name, verb := range wants() {
		if may(verb) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wants says which verb each tool wants.
func wants() map[string]auth.Verb {
	return map[string]auth.Verb{
		"run_command_bg": auth.RunsStart, "command_status": auth.RunsRead, "command_output": auth.RunsOutput,
		"command_kill": auth.RunsKill, "command_list": auth.RunsList, "retrieve_context": auth.RunsOutput,
		"git_log": auth.GitRead, "git_show": auth.GitRead, "git_diff": auth.GitRead, "git_blame": auth.GitRead,
		"git_merge_base": auth.GitRead, "git_ls_files": auth.GitRead, "git_branches": auth.GitRead, "git_cat": auth.GitRead,
		"git_grep": auth.GitRead, "git_status": auth.GitRead,
		"tasks_create": auth.TasksWrite, "tasks_update": auth.TasksWrite, "tasks_list": auth.TasksRead,
		"worktree_create": auth.WorkspacesClone, "worktree_list": auth.WorkspacesRead, "worktree_remove": auth.WorkspacesRemove,
		"delegate_task": auth.DelegatesStart, "collect_results": auth.DelegatesRead, "cancel_delegate": auth.DelegatesCancel,
	}
}
