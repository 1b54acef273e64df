package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/afar"
	"paddock/cmd/paddock/internal/desk/asked"
	"paddock/cmd/paddock/internal/desk/audits"
	"paddock/cmd/paddock/internal/desk/built"
	"paddock/cmd/paddock/internal/desk/conf"
	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/cmd/paddock/internal/desk/delegates"
	"paddock/cmd/paddock/internal/desk/doctor"
	"paddock/cmd/paddock/internal/desk/kept"
	"paddock/cmd/paddock/internal/desk/pages"
	"paddock/cmd/paddock/internal/desk/people"
	"paddock/cmd/paddock/internal/desk/plans"
	"paddock/cmd/paddock/internal/desk/repos"
	"paddock/cmd/paddock/internal/desk/rules"
	"paddock/cmd/paddock/internal/desk/runs"
	"paddock/cmd/paddock/internal/desk/states"
	"paddock/cmd/paddock/internal/desk/stock"
)

func init() { cobra.EnableCommandSorting = false } // ours is the order of use

// execute runs the command line args and returns the status to exit with.
func execute(ctx context.Context, d *desk.Desk, args []string) int {
	d.Tools = func(v desk.Verbs) { serveTools(d, v) }
	root := tree(d) //nolint:contextcheck // commands get ctx from cobra, when they run
	root.SetArgs(args)
	root.SetIn(d.In)
	root.SetOut(d.Out)
	root.SetErr(d.Err)
	err := root.ExecuteContext(ctx)
	d.Tell(err)
	return desk.StatusOf(err)
}

// tree is every command.
func tree(d *desk.Desk) *cobra.Command {
	root := d.Group(&cobra.Command{
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
		Version:           thisVersion().Version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
	})
	everywhere(root, d)
	root.SetVersionTemplate("paddock {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return desk.Usage(err.Error(), cmd.CommandPath()+" --help shows the flags")
	})
	root.AddGroup(&cobra.Group{ID: "runs", Title: "Runs:"}, &cobra.Group{ID: "rules", Title: "Rules:"}, &cobra.Group{ID: "doors", Title: "Doors:"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, cmd := range cmds {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add("runs", slices.Concat(runs.Commands(d), pages.Commands(d), audits.Commands(d), kept.Commands(d), stock.Commands(d))...)
	add("runs", asked.Command(d), states.Command(d, databases(d)), repos.Command(d), plans.Command(d), delegates.Command(d))
	add("rules", rules.Command(d), doctor.Command(d))
	add("doors", mcpCommand(d), serveCommand(d), crew.Command(d, workerRig(d)), conf.Command(d))
	add("doors", people.Commands(d, accountsHere(d))...)
	root.AddCommand(built.Command(d, version), manCommand(d))
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // a shell that it doesn't know is an error
			d.Group(cmd)
		}
	}
	return root
}

// everywhere adds what every command has.
func everywhere(root *cobra.Command, d *desk.Desk) {
	root.PersistentFlags().StringVar(&d.State, "state", "", "state `DIR` (default $PADDOCK_STATE, $XDG_STATE_HOME/paddock or ~/.local/state/paddock)")
	root.PersistentFlags().StringVar(&d.Policy, "policy", "", "policy `FILE` (default $PADDOCK_POLICY, the project's own, or /etc/paddock/policy.yaml)")
	root.PersistentFlags().StringVar(&d.Server, "server", "", "`URL` of a server to work with, with the token in $PADDOCK_TOKEN (default $PADDOCK_SERVER, or the state directory here)")
	root.PersistentFlags().BoolVar(&d.JSON, "json", false, "print JSON instead of text")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := desk.NotEmpty(cmd, "state", "policy", "dir", "server"); err != nil {
			return err
		}
		return afar.Check(cmd)
	}
	if err := errors.Join(root.MarkPersistentFlagFilename("policy", "yaml", "yml"), root.MarkPersistentFlagDirname("state")); err != nil {
		panic(err) // both are declared above
	}
}
