package runs

import (
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

func (d commands) waitCommand() *cobra.Command {
	var timeout string
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
			bound, err := waitBound(timeout, given)
			if err != nil {
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
	cmd.Flags().StringVar(&timeout, "timeout", "", "wait at most `TIME`, as 90s or 1d12h; 0 only asks (default for ever)")
	return cmd
}

// waitBound reads a bound as run and the policy write theirs, and 0 for a look.
func waitBound(word string, given bool) (time.Duration, error) {
	if !given {
		return 0, nil
	}
	if d, err := time.ParseDuration(word); err == nil && d == 0 {
		return 0, nil
	}
	d, err := unit.ParseDuration(word)
	if err != nil {
		return 0, desk.Usage("--timeout "+desk.Quote(word)+": "+err.Error(), "as in --timeout 90s or --timeout 1h")
	}
	return d, nil
}
