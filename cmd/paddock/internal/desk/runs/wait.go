package runs

import (
	"time"

	"paddock/cmd/paddock/internal/desk"

	"github.com/spf13/cobra"
)

func (d commands) waitCommand() *cobra.Command {
	var bound time.Duration
	cmd := &cobra.Command{
		Use:   "wait RUN",
		Short: "Wait for a run to end and exit as it did",
		Long: `Wait for a run to end. The exit status is that of the run, as if paddock run had
been in the foreground; 75 when --timeout was over first.`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			given := cmd.Flags().Changed("timeout")
			if err := desk.WaitBound("timeout", bound, given); err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				r, err := v.Status(cmd.Context(), d.Operator(), id)
				if err == nil && !r.State.Settled() && (!given || bound > 0) {
					r, err = v.Wait(cmd.Context(), d.Operator(), id, bound)
				}
				if err != nil {
					return err
				}
				if d.JSON {
					if err := d.Object(r); err != nil {
						return err
					}
				} else {
					d.End(r)
				}
				return desk.RunError(r)
			})
		},
	}
	cmd.Flags().DurationVar(&bound, "timeout", 0, "wait at most this long (default for ever)")
	return cmd
}
