// Package agenttools serves the delegates of a Go program the tools of Paddock that the
// policy gives them, as paddock mcp does: commands, git, checklists and delegates of
// their own, each in the delegate's own name and never wider than the policy has it.
//
//	r, err := runner.Open(ctx, policy, runner.Options{StateDir: dir, ServeTools: agenttools.Serve})
//
// It is a package of its own since it brings a server of the Model Context Protocol
// along, which most host programs don't need.
//
// # Limits
//
// A delegate with tools ends when its Runner is closed, or when the host program ends:
// then nobody would serve them. A hook of the Runner's is asked about what delegates
// ask for, too.
package agenttools

import (
	"context"
	"errors"
	"io"
	"net"

	"paddock"
	"paddock/internal/app/served"
	"paddock/internal/git"
	"paddock/internal/mcpserver"
	"paddock/internal/task/delegate"
)

// Serve is for [runner.Options]. It answers one delegate over conn.
func Serve(ctx context.Context, conn net.Conn, s served.Session) {
	id := s.Delegate.Session()
	cfg := mcpserver.Config{
		App: s.App, Principal: id, Version: "runner", OnDisconnect: mcpserver.Kill, Log: s.Log, Now: s.Now,
		Delegate: s.Delegate.ID, Tools: s.Delegate.Tools,
		PolicyProblem: func() *paddock.Refusal {
			_, err := s.Policies.Load()
			refusal, _ := errors.AsType[*paddock.Refusal](err) // a fault of ours is for each call to tell
			return refusal
		},
		Words: func() []string {
			if rules, err := s.Policies.Load(); err == nil {
				return rules.Applied(id, "").Words()
			}
			return nil
		},
		Git:       registers(s, git.Name),
		Delegates: registers(s, delegate.Name),
	}
	if err := mcpserver.Serve(ctx, cfg, conn, unclosed{conn}); err != nil && ctx.Err() == nil {
		s.Log.Error("serving a delegate its tools", "delegate", s.Delegate.ID, "err", err)
	}
}

// registers says whether the policy has a section for a room.
func registers(s served.Session, room string) func() bool {
	return func() bool {
		p, err := s.Policies.Load()
		return err == nil && p.For(room) != nil
	}
}

// unclosed leaves closing to the other half of a connection.
type unclosed struct{ io.Writer }

// Close implements [io.Closer].
func (unclosed) Close() error { return nil }
