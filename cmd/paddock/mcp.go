package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/lookup"
	"paddock/internal/mcpserver"
)

// warmForAgents is how many supervisors wait for an agent's next command.
const warmForAgents = 2

func (c *cli) mcpCommand() *cobra.Command {
	var end, session string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over MCP on standard input and output",
		Long: `Serve the tools run_command_bg, command_status, command_output, command_kill and
command_list over the Model Context Protocol on standard input and output.

Runs belong to the user, the policy and the workspace, or the --session where one
is named: a client that comes back finds its runs again, and no other sees them.
They go on when the client disconnects, unless --on-disconnect kill is given.`,
		Example: `  claude mcp add paddock -- paddock mcp
  paddock mcp --session review --on-disconnect kill`,
		Args: wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if end != mcpserver.Keep && end != mcpserver.Kill {
				return &usageError{"--on-disconnect is keep or kill, not " + quote(end), "keep lets runs go on when the client leaves"}
			}
			return c.serve(cmd.Context(), end, session)
		},
	}
	cmd.Flags().StringVar(&end, "on-disconnect", mcpserver.Keep, "what becomes of this connection's runs when it ends: keep or kill")
	cmd.Flags().StringVar(&session, "session", "", "a name under which runs are found again, in place of the workspace")
	if err := cmd.RegisterFlagCompletionFunc("on-disconnect", cobra.FixedCompletions([]string{mcpserver.Keep, mcpserver.Kill}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

// serve answers one client until it leaves or we are asked to end. Whatever is
// wrong with the policy or the state directory is told to the client in answer
// to its calls: most show the standard error of a server to nobody.
func (c *cli) serve(ctx context.Context, end, session string) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, restore := c.signals()
	defer restore()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	source := c.source(c.settings)
	cfg := mcpserver.Config{
		Principal:    c.agent(source, session),
		OnDisconnect: end,
		Version:      thisVersion().Version,
		Log:          slog.New(slog.NewTextHandler(c.err, nil)),
		Now:          c.now,
		PolicyProblem: func() *paddock.Refusal {
			_, refusal := source.Load()
			return refusal
		},
		Words: func() []string {
			if p, refusal := source.Load(); refusal == nil {
				return p.Words()
			}
			return nil
		},
	}
	house, err := c.house(ctx, c.settings, source, warmForAgents)
	if err != nil {
		c.say("warning", err.Error())
		refusal := paddock.Refused(paddock.Unrecordable, "The state directory can't be used: %v.", err)
		cfg.PolicyProblem = func() *paddock.Refusal { return refusal }
	} else {
		cfg.App = house
		defer func() {
			if closed := house.Close(); err == nil {
				err = closed
			}
		}()
	}
	err = mcpserver.Serve(ctx, cfg, readCloser(c.in), writeCloser(c.out))
	if ctx.Err() != nil {
		return nil // asked to end, and did
	}
	return err
}

// agent is who asks over this connection. The id is the same whenever the same
// client comes back, and another for every other user, policy and workspace.
func (c *cli) agent(source *lookup.Source, session string) paddock.Principal {
	digest, where := "none", c.dir
	if p, refusal := source.Load(); refusal == nil {
		digest = p.Digest().Short()
		roots := p.Roots()
		if len(roots) > 0 {
			where = roots[0]
		}
		for _, root := range roots {
			if lookup.Within(lookup.RealPath(c.dir), lookup.RealPath(root)) {
				where = root
			}
		}
	}
	if session != "" {
		where = "session " + session
	}
	return paddock.Principal{Kind: paddock.Agent, ID: fmt.Sprintf("stdio:uid=%d:policy=%s:%s", c.uid, digest, where)}
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
