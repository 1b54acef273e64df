package plans

import (
	"fmt"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/task"
)

func (d commands) prune() *cobra.Command {
	var f desk.Stale
	var dry bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Forget checklists that have been complete for some time", Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			stale, err := f.Said(cmd)
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				gone, err := v.PruneTasks(cmd.Context(), d.Operator(), stale, dry)
				if d.JSON && err == nil {
					return d.Object(struct {
						Pruned []task.Checklist `json:"pruned"`
						DryRun bool             `json:"dry_run"`
					}{append([]task.Checklist{}, gone...), dry})
				}
				if len(gone) == 0 && err == nil {
					d.Say("note", "nothing goes: no complete checklist is that old, or beyond that many")
				}
				for _, list := range gone {
					fmt.Fprintf(d.Out, "%s  %d items\n", desk.Plain(list.Principal.ID), len(list.Items))
				}
				return err
			})
		},
	}
	f.Flags(cmd, "complete checklists")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say which")
	return cmd
}
