package main

import (
	"time"

	"github.com/spf13/cobra"
)

func (c *cli) waitCommand() *cobra.Command {
	var bound time.Duration
	cmd := &cobra.Command{
		Use:   "wait RUN",
		Short: "Wait for a run to end and exit as it did",
		Long: `Wait for a run to end. The exit status is that of the run, as if paddock run had
been in the foreground; 75 when --timeout was over first.`,
		Args:              wants(1, 1, "one run"),
		ValidArgsFunction: c.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			given := cmd.Flags().Changed("timeout")
			if err := waitBound("timeout", bound, given); err != nil {
				return err
			}
			return c.with(cmd.Context(), func(v verbs) error {
				r, err := v.Status(cmd.Context(), c.operator(), id)
				if err == nil && !r.State.Settled() && (!given || bound > 0) {
					r, err = v.Wait(cmd.Context(), c.operator(), id, bound)
				}
				if err != nil {
					return err
				}
				if c.settings.json {
					if err := c.showJSON(r); err != nil {
						return err
					}
				} else {
					c.showEnd(r)
				}
				return runError(r)
			})
		},
	}
	cmd.Flags().DurationVar(&bound, "timeout", 0, "wait at most this long (default for ever)")
	return cmd
}
