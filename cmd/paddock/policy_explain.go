package main

import (
	"github.com/spf13/cobra"

	"paddock"
)

func (c *cli) policyExplainCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "explain [flags] [--] ARGV…",
		Short: "Show what each gate says to a command, without running it",
		Long: `Judge a command exactly as paddock run would and show every gate with its verdict,
what it looked at, and the place in the policy that decided. Nothing is started.
The exit status is 0 when the command would run and 126 when it would be refused.`,
		Example:           `  paddock policy explain -- go test ./...`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, argv []string) error {
			req, err := c.request(cmd, f, argv)
			if err != nil {
				return err
			}
			return c.with(cmd.Context(), func(v verbs) error {
				d := v.Explain(cmd.Context(), req)
				if err := c.showDecision(d); err != nil {
					return err
				}
				if d.Effect != paddock.Allow {
					return exitStatus(exitRefused)
				}
				return nil
			})
		},
	}
	c.requestFlags(cmd, &f)
	return cmd
}
