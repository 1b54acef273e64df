package plans

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy/compiled/document/shape/table/unit"
	"paddock/internal/task"
)

func (d commands) prune() *cobra.Command {
	var age string
	var dry bool
	cmd := &cobra.Command{
		Use: "prune --age TIME", Short: "Forget checklists that have been complete for some time", Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			old, err := unit.ParseDuration(age)
			if err != nil {
				return desk.Usage("--age "+desk.Quote(age)+": "+err.Error(), "as in --age 30d")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				gone, err := v.PruneTasks(cmd.Context(), d.Operator(), time.Duration(old), dry)
				if d.JSON && err == nil {
					return d.Object(struct {
						Pruned []task.Checklist `json:"pruned"`
						DryRun bool             `json:"dry_run"`
					}{append([]task.Checklist{}, gone...), dry})
				}
				for _, list := range gone {
					fmt.Fprintf(d.Out, "%s  %d items\n", desk.Plain(list.Principal.ID), len(list.Items))
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&age, "age", "", "those whose last change was `TIME` ago or longer, such as 30d")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which")
	return cmd
}
