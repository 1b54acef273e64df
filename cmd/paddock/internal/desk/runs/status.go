package runs

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
)

func (d commands) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status RUN",
		Short: "Show how a run stands",
		Long: `Show how a run stands or ended. The exit status says whether it could be shown;
paddock wait exits as the run did.`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				r, err := v.Status(cmd.Context(), d.Operator(), id)
				if err != nil {
					return err
				}
				return d.Run(r)
			})
		},
	}
}
