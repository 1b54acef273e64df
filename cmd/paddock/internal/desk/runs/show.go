package runs

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
)

func (d commands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show everything that was written down about a run",
		Long: `Show the whole record of a run: who asked for what, how each gate decided, what the
program got (names of environment variables, never values), what was enforced,
and how it ended.`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				detail, err := v.Detail(cmd.Context(), d.Operator(), id)
				if err != nil {
					return err
				}
				return d.Detail(detail)
			})
		},
	}
}
