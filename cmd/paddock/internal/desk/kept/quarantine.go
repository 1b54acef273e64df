package kept

import (
	"fmt"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
)

func (d commands) quarantineCommand() *cobra.Command {
	var restore []string
	cmd := &cobra.Command{
		Use:   "quarantine RUN",
		Short: "Show, or move back, what was moved out of a run's workspace",
		Long: `Show what appeared in the workspace during a run and was moved out of it, because
other tools would execute or obey it: git's hooks and configuration, the settings
of agents and editors. It is in the run's directory; read it there before you
move it back with --restore. Nothing is replaced, and no link is followed.
'paddock show' also has what changed and stayed. Pruning the run's output
removes its quarantine too.`,
		Example: `  paddock quarantine RUN                            what is there, and where
  paddock quarantine RUN --restore web/.envrc       move that back`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				if len(restore) > 0 {
					done, err := v.Restore(cmd.Context(), d.Operator(), id, restore)
					if err != nil {
						return err
					}
					return d.restored(done)
				}
				q, err := v.Quarantine(cmd.Context(), d.Operator(), id)
				if err != nil {
					return err
				}
				return d.quarantine(q)
			})
		},
	}
	cmd.Flags().StringArrayVar(&restore, "restore", nil, "move what came from `PATH` back there; may be repeated")
	return cmd
}

// quarantine lists what was moved, a line each.
func (d commands) quarantine(q paddock.Quarantine) error {
	if d.JSON {
		return d.Object(q)
	}
	for _, i := range q.Items {
		at := i.At
		if at == "" {
			at = "restored"
		}
		if _, err := fmt.Fprintf(d.Out, "%s  (%s, mode %s)  %s\n", desk.Plain(i.Path), i.Kind, i.Mode, desk.Plain(at)); err != nil {
			return err
		}
	}
	if len(q.Items) == 0 {
		d.Say("note", "nothing could be moved; paddock show "+string(q.Run)+" says why")
	}
	return nil
}

func (d commands) restored(r paddock.Restored) error {
	if d.JSON {
		return d.Object(r)
	}
	for _, p := range r.Paths {
		if _, err := fmt.Fprintln(d.Out, desk.Plain(p)); err != nil {
			return err
		}
	}
	return nil
}
