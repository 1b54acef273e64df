package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk/named"
	"paddock/cmd/paddock/internal/desk/screen"
	"paddock/internal/app"
)

// Group makes cmd one that only has commands below it.
func (d *Desk) Group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		e := Usage(fmt.Sprintf("there is no command %q", screen.Plain(cmd.CommandPath()+" "+args[0])), cmd.CommandPath()+" --help lists the commands")
		cmd.SuggestionsMinimumDistance = 2
		if there := named.Under(cmd.Root(), args[0]); len(there) > 0 {
			e.Hint = "did you mean " + strings.Join(there, " or ") + "?"
		} else if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			e.Hint = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "?"
		}
		return e
	}
	return cmd
}

// With opens the house for f and closes it again.
func (d *Desk) With(ctx context.Context, f func(v Verbs) error) error {
	v, err := d.Open(ctx)
	if err != nil {
		return err
	}
	err = f(v)
	return errors.Join(err, v.Close())
}

// Wants refuses a number of words that the command doesn't take.
func Wants(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || (most >= 0 && len(args) > most) {
			return Usage(fmt.Sprintf("%s takes %s, not %d words", cmd.CommandPath(), what, len(args)), cmd.CommandPath()+" --help shows the form")
		}
		return nil
	}
}

// NotEmpty refuses flags that were given nothing: a variable that isn't set, as
// in --policy "$POLICY", must not mean the default.
func NotEmpty(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return Usage("--"+name+" was given an empty word", "name one, or leave the flag out")
		}
	}
	return nil
}

// OneOf refuses more than one of some flags that say different things of the
// same. It is ours because cobra's own sentence for it is hard to read.
func OneOf(cmd *cobra.Command, names ...string) error {
	var given []string
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) < 2 {
		return nil
	}
	return Usage(strings.Join(given, " and ")+" don't go together", "leave out all but one")
}

// RunID reads the id of a run as a person typed it.
func RunID(word string) (paddock.RunID, error) {
	id, err := paddock.ParseRunID(word)
	if err != nil {
		r := paddock.Refused(paddock.InvalidRequest, "%s is %v", screen.Quote(word), err)
		r.Hint = "paddock ps --all lists the ids of the runs"
		return "", r
	}
	return id, nil
}

// CompleteRuns offers the ids of runs to the shell, newest first.
func (d *Desk) CompleteRuns(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	err := d.With(cmd.Context(), func(v Verbs) error {
		list, err := v.List(cmd.Context(), d.Operator(), app.Filter{})
		for _, r := range list.Runs {
			words = append(words, string(r.ID)+"\t"+screen.Plain(string(r.State)+" "+r.Label))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
