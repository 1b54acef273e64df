// Package kept has the commands that deal with what a run changed, where that is
// kept apart from its workspace.
//
// # Limits
//
// What may be applied is asked of the verbs and nowhere here.
package kept

import (
	"fmt"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
)

// commands are the commands at a desk.
type commands struct{ *desk.Desk }

// Commands returns the commands in the order of use.
func Commands(at *desk.Desk) []*cobra.Command {
	d := commands{at}
	return []*cobra.Command{d.diffCommand(), d.applyCommand(), d.discardCommand(), d.quarantineCommand()}
}

func (d commands) diffCommand() *cobra.Command {
	var names, stat bool
	cmd := &cobra.Command{
		Use:   "diff RUN [PATH…]",
		Short: "Show what a run changed in its workspace",
		Long: `Show what a run changed, where the policy has that kept apart from the workspace
(containment.workspace: overlay): all of it, or what is at the paths and below
them. Paths are relative to the run's root. The run must have ended.`,
		Example: `  paddock diff RUN                 everything, as a diff
  paddock diff RUN --stat src      a line for each file below src`,
		Args:              desk.Wants(1, -1, "one run and paths"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := desk.OneOf(cmd, "name-only", "stat"); err != nil {
				return err
			}
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			line := d.patch
			switch {
			case names:
				line = func(f paddock.FileChange) string { return desk.Plain(f.Path) + "\n" }
			case stat:
				line = stats
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				all, err := v.Diff(cmd.Context(), d.Operator(), id, app.Choice{Paths: args[1:], Hunks: !names})
				if err != nil {
					return err
				}
				return d.show(all, line)
			})
		},
	}
	cmd.Flags().BoolVar(&names, "name-only", false, "only the paths")
	cmd.Flags().BoolVar(&stat, "stat", false, "a line for each path")
	return cmd
}

func (d commands) applyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "apply RUN [PATH…]",
		Short: "Bring what a run changed into its workspace",
		Long: `Bring what a run changed into the workspace: all of it, or what is at the paths
and below them. If one change must not be made, none is. Protected places, what
leads out of the workspace, and what is no file, directory or symbolic link are
never applied. Where the workspace changed since the run began, nothing is
replaced unless its path is named. Applying again does what is left to do.`,
		Args:              desk.Wants(1, -1, "one run and paths"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				done, err := v.Apply(cmd.Context(), d.Operator(), id, app.Choice{Paths: args[1:]})
				if err != nil {
					return err
				}
				return d.applied(done)
			})
		},
	}
}

func (d commands) discardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "discard RUN",
		Short: "Throw away what a run changed in its workspace",
		Long: `Throw away what a run changed, where that was kept apart from the workspace. The
workspace isn't touched, and the run's record and output stay.`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				run, err := v.Discard(cmd.Context(), d.Operator(), id)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Run(run)
				}
				_, err = fmt.Fprintln(d.Out, run.ID, "changes discarded")
				return err
			})
		},
	}
}
