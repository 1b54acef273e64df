// Package stdio is the command that serves one agent over MCP on standard input and
// output.
//
// # Limits
//
// Which tools there are and what they do is package mcpserver's, and who the agent is
// package doorway's.
package stdio

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/doorway"
	"paddock/internal/app"
	"paddock/internal/mcpserver"
	"paddock/internal/task/delegate"
)

// A Rig is what the command needs of its program.
type Rig struct {
	Version string
	// Policies are those that apply here, and Session who asks in the session of a name.
	Policies doorway.Policies
	Session  func(name string) paddock.Principal
	// House opens the state directory, with as many supervisors at hand.
	House func(ctx context.Context, warm int) (*app.App, error)
}

// warmForAgents is how many supervisors wait for an agent's next command.
const warmForAgents = 2

// Command is paddock mcp; rig is asked for when the flags were read.
func Command(d *desk.Desk, rig func() Rig) *cobra.Command {
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
			if !desk.SessionName(session) {
				return desk.Usage("--session is "+desk.Quote(session), desk.SessionWants)
			}
			return serve(cmd.Context(), d, rig(), end, session)
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
func serve(ctx context.Context, d *desk.Desk, rig Rig, end, session string) (err error) {
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
	if given, err := doorway.Through(ctx, d); given {
		return err
	}
	cfg := doorway.Config(d, rig.Version, rig.Policies, rig.Session(session))
	rooms, err := rig.House(ctx, warmForAgents)
	if err != nil {
		d.Say("warning", err.Error())
		refusal := paddock.Refused(paddock.Unrecordable, "The state directory can't be used: %v.", err)
		cfg.PolicyProblem = func() *paddock.Refusal { return refusal }
	} else {
		if d.Tools != nil {
			d.Tools(rooms)
		}
		cfg.App = rooms
		cfg.OnDisconnect, cfg.Delegate, err = within(ctx, d, rooms, cfg.Principal, end)
		if err != nil {
			return errors.Join(err, rooms.Close())
		}
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
func within(ctx context.Context, d *desk.Desk, rooms desk.Verbs, p paddock.Principal, end string) (ends, parent string, err error) {
	if parent, _ = d.Env(delegate.Variable); parent == "" {
		if parent, err = rooms.Inside(ctx, p); err != nil {
			return end, "", err
		}
	}
	if parent != "" {
		end = mcpserver.Kill
	}
	return end, parent, nil
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
