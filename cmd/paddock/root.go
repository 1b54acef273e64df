package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
)

func init() { cobra.EnableCommandSorting = false } // ours is the order of use

// A cli is one invocation: the world outside and the flags given.
type cli struct {
	*outside
	settings settings
}

// execute runs the command line args and returns the status to exit with.
func execute(ctx context.Context, o *outside, args []string) int {
	c := &cli{outside: o}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(o.in)
	root.SetOut(o.out)
	root.SetErr(o.err)
	err := root.ExecuteContext(ctx)
	c.showError(err)
	return statusOf(err)
}

// root is the command tree.
func (c *cli) root() *cobra.Command {
	root := c.group(&cobra.Command{
		Use:   "paddock",
		Short: "Let agents run. Not loose.",
		Long: `Paddock runs programs for callers that must not be trusted, under a policy that
you wrote, and keeps everything that they print.

The exit status of run and wait is the program's own, or:
  75   a bounded wait was over before the run was
  124  the run's time was over
  125  our fault, a wrong flag, or the program couldn't be started or was lost
  126  refused; the reason and what to do next are on standard error
  127  refused because the executable doesn't exist
  137  killed by request or for the size of its output
  128+N ended by signal N from elsewhere

With --json, standard output holds one JSON object: the thing asked for, or an
object with the single key "refusal" or "error". Names are snake_case, times
RFC 3339, durations whole milliseconds (_ms), sizes bytes. Lists have the keys
"runs" and "next". Only logs --json prints several, one page of output a line.`,
		Example: `  paddock policy init              propose a policy for the project here
  paddock run -- go test ./...     run a command under it
  paddock run -d -- make build     the same in the background
  paddock output RUN               everything that it printed`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	})
	root.PersistentFlags().StringVar(&c.settings.state, "state", "", "state directory (default $PADDOCK_STATE, $XDG_STATE_HOME/paddock or ~/.local/state/paddock)")
	root.PersistentFlags().StringVar(&c.settings.policy, "policy", "", "policy file (default $PADDOCK_POLICY, the project's own, or /etc/paddock/policy.yaml)")
	root.PersistentFlags().BoolVar(&c.settings.json, "json", false, "print JSON instead of text")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{err.Error(), cmd.CommandPath() + " --help shows the flags"}
	})
	root.AddGroup(&cobra.Group{ID: "runs", Title: "Runs:"}, &cobra.Group{ID: "rules", Title: "Rules:"}, &cobra.Group{ID: "doors", Title: "Doors:"})
	for id, cmds := range map[string][]*cobra.Command{
		"runs":  {c.runCommand(), c.psCommand(), c.waitCommand(), c.logsCommand(), c.outputCommand(), c.statusCommand(), c.killCommand(), c.showCommand()},
		"rules": {c.policyCommand()},
		"doors": {c.mcpCommand()},
	} {
		for _, cmd := range cmds {
			cmd.GroupID = id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(c.versionCommand(), c.manCommand())
	if err := errors.Join(root.MarkPersistentFlagFilename("policy", "yaml", "yml"), root.MarkPersistentFlagDirname("state")); err != nil {
		panic(err) // both are declared above
	}
	return root
}

// group makes cmd one that only has commands below it.
func (c *cli) group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		e := &usageError{message: fmt.Sprintf("there is no command %q", plain(cmd.CommandPath()+" "+args[0])), hint: cmd.CommandPath() + " --help lists the commands"}
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			e.hint = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "?"
		}
		return e
	}
	return cmd
}

// with opens the house for f and closes it again.
func (c *cli) with(ctx context.Context, f func(v verbs) error) error {
	v, err := c.open(ctx, c.settings)
	if err != nil {
		return err
	}
	err = f(v)
	return errors.Join(err, v.Close())
}

// wants refuses a number of words that the command doesn't take.
func wants(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || (most >= 0 && len(args) > most) {
			return &usageError{fmt.Sprintf("%s takes %s, not %d words", cmd.CommandPath(), what, len(args)), cmd.CommandPath() + " --help shows the form"}
		}
		return nil
	}
}

// runID reads the id of a run as a person typed it.
func runID(word string) (paddock.RunID, error) {
	id, err := paddock.ParseRunID(word)
	if err != nil {
		r := paddock.Refused(paddock.InvalidRequest, "%s is %v", quote(word), err)
		r.Hint = "paddock ps --all lists the ids of the runs"
		return "", r
	}
	return id, nil
}

// absolute makes a path that was given relative to the working directory
// independent of it.
func (o *outside) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(o.dir, path)
}

// completeRuns offers the ids of runs to the shell, newest first.
func (c *cli) completeRuns(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	err := c.with(cmd.Context(), func(v verbs) error {
		list, err := v.List(cmd.Context(), c.operator(), listAll)
		for _, r := range list.Runs {
			words = append(words, string(r.ID)+"\t"+plain(string(r.State)+" "+r.Label))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
