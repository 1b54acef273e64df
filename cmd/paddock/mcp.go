package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/internal/git"
	"paddock/internal/mcpserver"
	"paddock/internal/task/delegate"
)

// warmForAgents is how many supervisors wait for an agent's next command.
const warmForAgents = 2

// mostSession bounds the name of a session, which stands in every record.
const mostSession = 200

func mcpCommand(d *desk.Desk) *cobra.Command {
	var end, session string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over MCP on standard input and output",
		Long: `Serve the tools run_command_bg, command_status, command_output, command_kill and
command_list over the Model Context Protocol on standard input and output, and the
git tools where the policy has a git section.

Runs belong to the user, the policy and the workspace, or the --session where one
is named: a client that comes back finds its runs again, and no other sees them.
They go on when the client disconnects, unless --on-disconnect kill is given.`,
		Example: `  claude mcp add paddock -- paddock mcp
  paddock mcp --session review --on-disconnect kill`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if end != mcpserver.Keep && end != mcpserver.Kill {
				return desk.Usage("--on-disconnect is keep or kill, not "+desk.Quote(end), "keep lets runs go on when the client leaves")
			}
			if len(session) > mostSession || desk.Plain(session) != session {
				return desk.Usage("--session is "+desk.Quote(session), fmt.Sprintf("want one line of at most %d bytes", mostSession))
			}
			return serve(cmd.Context(), d, end, session)
		},
	}
	cmd.Flags().StringVar(&end, "on-disconnect", mcpserver.Keep, "`WHAT` becomes of this connection's runs when it ends: keep or kill")
	cmd.Flags().StringVar(&session, "session", "", "`NAME` under which runs are found again, in place of the workspace")
	if err := cmd.RegisterFlagCompletionFunc("on-disconnect", cobra.FixedCompletions([]string{mcpserver.Keep, mcpserver.Kill}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

// serve answers one client until it leaves or we are asked to end. Whatever is
// wrong with the policy or the state directory is told to the client in answer
// to its calls: most show the standard error of a server to nobody.
func serve(ctx context.Context, d *desk.Desk, end, session string) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, restore := d.Signals()
	defer restore()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	if d.Terminal && d.ErrTerminal {
		d.Say("note", "this speaks MCP, for a program; Ctrl-D ends it")
	}
	policies := source(d)
	end, parent := within(d, end)
	cfg := mcpserver.Config{
		Principal:    agent(d, policies, session),
		OnDisconnect: end,
		Delegate:     parent,
		Version:      thisVersion().Version,
		Log:          slog.New(slog.NewTextHandler(d.Err, nil)),
		Now:          d.Now,
		PolicyProblem: func() *paddock.Refusal {
			var refusal *paddock.Refusal // a fault of ours is for each call to tell
			if _, err := policies.Load(); errors.As(err, &refusal) {
				return refusal
			}
			return nil
		},
		PolicyNotice: notice(policies),
		Words: func() []string {
			if p, err := policies.Load(); err == nil {
				return p.Words()
			}
			return nil
		},
		Git:       registers(policies, git.Name),
		Delegates: registers(policies, delegate.Name),
	}
	rooms, err := house(ctx, d, d.State, policies, warmForAgents)
	if err != nil {
		d.Say("warning", err.Error())
		refusal := paddock.Refused(paddock.Unrecordable, "The state directory can't be used: %v.", err)
		cfg.PolicyProblem = func() *paddock.Refusal { return refusal }
	} else {
		cfg.App = rooms
		defer func() {
			if closed := rooms.Close(); err == nil {
				err = closed
			}
		}()
	}
	err = mcpserver.Serve(ctx, cfg, readCloser(d.In), writeCloser(d.Out))
	if ctx.Err() != nil {
		return nil // asked to end, and did
	}
	return err
}

// within is the delegate that this is started by, if there is one: then what it starts
// ends with it.
func within(d *desk.Desk, end string) (ends, parent string) {
	if parent, _ = d.Env(delegate.Variable); parent != "" {
		end = mcpserver.Kill
	}
	return end, parent
}

// notice says of a policy that was changed and can't be used that it isn't in force.
func notice(policies *lookup.Source) func() string {
	return func() string {
		if _, err := policies.Load(); err != nil || policies.Trouble() == nil {
			return ""
		}
		return "The policy file was changed and is broken; the previous one is in force. Tell the operator: paddock policy check lists what is wrong."
	}
}

// registers says whether the policy has a section for a room.
func registers(policies *lookup.Source, room string) func() bool {
	return func() bool {
		p, err := policies.Load()
		return err == nil && p.For(room) != nil
	}
}

// agent is who asks over this connection. The id is the same whenever the same
// client comes back, and another for every other user, policy and workspace.
func agent(d *desk.Desk, source *lookup.Source, session string) paddock.Principal {
	digest, where := "none", d.Dir
	if p, err := source.Load(); err == nil {
		digest = p.Digest().Short()
		roots := p.Roots()
		if len(roots) > 0 {
			where = roots[0]
		}
		for _, root := range roots {
			if lookup.Within(lookup.RealPath(d.Dir), lookup.RealPath(root)) {
				where = root
			}
		}
	}
	if session != "" {
		where = "session " + session
	}
	return paddock.Principal{Kind: paddock.Agent, ID: fmt.Sprintf("stdio:uid=%d:policy=%s:%s", d.UID, digest, where)}
}

func readCloser(r io.Reader) io.ReadCloser {
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

func writeCloser(w io.Writer) io.WriteCloser {
	if wc, ok := w.(io.WriteCloser); ok {
		return wc
	}
	return unclosed{w}
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
