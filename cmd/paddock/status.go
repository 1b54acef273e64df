package main

import "github.com/spf13/cobra"

func (c *cli) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status RUN",
		Short: "Show how a run stands",
		Long: `Show how a run stands or ended. The exit status says whether it could be shown;
paddock wait exits as the run did.`,
		Args:              wants(1, 1, "one run"),
		ValidArgsFunction: c.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			return c.with(cmd.Context(), func(v verbs) error {
				r, err := v.Status(cmd.Context(), c.operator(), id)
				if err != nil {
					return err
				}
				return c.showRun(r)
			})
		},
	}
}
