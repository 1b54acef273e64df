package runs

import (
	"errors"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
)

func (d commands) psCommand() *cobra.Command {
	var all bool
	var f app.Filter
	var before string
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List runs, newest first",
		Long: `List the runs that are going on, newest first; with --all those that have ended
too. Every run of the state directory is listed, whoever asked for it.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Active = !all
			if before != "" {
				id, err := desk.RunID(before)
				if err != nil {
					return err
				}
				f.Before = id
			}
			if f.Limit < 0 {
				return desk.Usage("--limit must not be negative", "as in --limit 200")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				list, err := v.List(cmd.Context(), d.Operator(), f)
				if err != nil && len(list.Runs) == 0 {
					return err
				}
				return errors.Join(d.Runs(list), err) // a run that can't be read hides no other
			})
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "ended runs too")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "at most `N` (default 50, most 1000)")
	cmd.Flags().StringVar(&before, "before", "", "only runs made before `RUN`")
	cmd.Flags().StringVar(&f.Label, "label", "", "only runs with exactly the label `TEXT`")
	return cmd
}
