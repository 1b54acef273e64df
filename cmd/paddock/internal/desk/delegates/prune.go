package delegates

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/task/delegate"
)

func (d commands) prune() *cobra.Command {
	var f desk.Stale
	var dry bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Have results go that nobody acknowledged for some time", Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			stale, err := f.Said(cmd)
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				gone, err := v.PruneDelegates(cmd.Context(), d.Operator(), stale, dry)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(struct {
						Pruned []delegate.Delegate `json:"pruned"`
						DryRun bool                `json:"dry_run"`
					}{append([]delegate.Delegate{}, gone...), dry})
				}
				if len(gone) == 0 {
					d.Say("note", "nothing goes: no result that isn't acknowledged is that old, or beyond that many")
				}
				return d.print(gone, false)
			})
		},
	}
	f.Flags(cmd, "results")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which")
	return cmd
}
