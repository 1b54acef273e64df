package delegates

import (
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy/compiled/document/shape/table/unit"
	"paddock/internal/task/delegate"
)

func (d commands) prune() *cobra.Command {
	var age string
	var dry bool
	cmd := &cobra.Command{
		Use: "prune --age TIME", Short: "Have results go that nobody acknowledged for some time", Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			old, err := unit.ParseDuration(age)
			if err != nil {
				return desk.Usage("--age "+desk.Quote(age)+": "+err.Error(), "as in --age 30d")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				gone, err := v.PruneDelegates(cmd.Context(), d.Operator(), time.Duration(old), dry)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(struct {
						Pruned []delegate.Delegate `json:"pruned"`
						DryRun bool                `json:"dry_run"`
					}{append([]delegate.Delegate{}, gone...), dry})
				}
				return d.print(gone, false)
			})
		},
	}
	cmd.Flags().StringVar(&age, "age", "", "those that were there `TIME` ago, such as 30d")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which")
	return cmd
}
