package main

import (
	"github.com/spf13/cobra"
)

func (c *cli) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show everything that was written down about a run",
		Long: `Show the whole record of a run: who asked for what, how each gate decided, what the
program got (names of environment variables, never values), what was enforced,
and how it ended.`,
		Args:              wants(1, 1, "one run"),
		ValidArgsFunction: c.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			return c.with(cmd.Context(), func(v verbs) error {
				d, err := v.Detail(cmd.Context(), c.operator(), id)
				if err != nil {
					return err
				}
				return c.showDetail(d)
			})
		},
	}
}
