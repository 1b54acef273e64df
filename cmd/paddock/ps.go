package main

import (
	"errors"

	"github.com/spf13/cobra"

	"paddock/internal/app"
)

// listAll is the newest page of everything.
var listAll = app.Filter{}

func (c *cli) psCommand() *cobra.Command {
	var all bool
	var f app.Filter
	var before string
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List runs, newest first",
		Long: `List the runs that are going on, newest first; with --all those that have ended
too. Every run of the state directory is listed, whoever asked for it.`,
		Args: wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Active = !all
			if before != "" {
				id, err := runID(before)
				if err != nil {
					return err
				}
				f.Before = id
			}
			if f.Limit < 0 {
				return &usageError{"--limit must not be negative", "as in --limit 200"}
			}
			return c.with(cmd.Context(), func(v verbs) error {
				list, err := v.List(cmd.Context(), c.operator(), f)
				if err != nil && len(list.Runs) == 0 {
					return err
				}
				return errors.Join(c.showRuns(list), err) // a run that can't be read hides no other
			})
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "ended runs too")
	cmd.Flags().IntVar(&f.Limit, "limit", 0, "at most this many (default 50, most 1000)")
	cmd.Flags().StringVar(&before, "before", "", "only runs made before this one")
	cmd.Flags().StringVar(&f.Label, "label", "", "only runs with exactly this label")
	return cmd
}
