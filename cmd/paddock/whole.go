//go:build !quick || !linux

package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/afar"
	"paddock/cmd/paddock/internal/desk/asked"
	"paddock/cmd/paddock/internal/desk/audits"
	"paddock/cmd/paddock/internal/desk/built"
	"paddock/cmd/paddock/internal/desk/conf"
	"paddock/cmd/paddock/internal/desk/crew"
	"paddock/cmd/paddock/internal/desk/delegates"
	"paddock/cmd/paddock/internal/desk/doctor"
	"paddock/cmd/paddock/internal/desk/doorway"
	"paddock/cmd/paddock/internal/desk/doorway/stdio"
	"paddock/cmd/paddock/internal/desk/kept"
	"paddock/cmd/paddock/internal/desk/pages"
	"paddock/cmd/paddock/internal/desk/people"
	"paddock/cmd/paddock/internal/desk/people/enter"
	"paddock/cmd/paddock/internal/desk/plans"
	"paddock/cmd/paddock/internal/desk/repos"
	"paddock/cmd/paddock/internal/desk/rules"
	"paddock/cmd/paddock/internal/desk/runs"
	"paddock/cmd/paddock/internal/desk/states"
	"paddock/cmd/paddock/internal/desk/stock"
	"paddock/cmd/paddock/internal/desk/trees"
	"paddock/internal/app"
	"paddock/internal/mcpserver"
	"paddock/internal/policy/compiled/rule"
)

// execute runs the command line args and returns the status to exit with.
func execute(ctx context.Context, d *desk.Desk, args []string) int {
	d.Tools = func(v desk.Verbs) { serveTools(d, v) }
	return perform(ctx, d, tree(d), args) //nolint:contextcheck // commands get ctx from cobra, when they run
}

// serveTools has v serve delegates the tools that they have.
func serveTools(d *desk.Desk, v desk.Verbs) {
	if verbs, ok := v.(mcpserver.Verbs); ok {
		v.ServeTools(doorway.Tools(d, thisVersion().Version, source(d), verbs))
	}
}

// agentsRig is what paddock mcp needs of this program, whose flags were read.
func agentsRig(d *desk.Desk) stdio.Rig {
	policies := source(d)
	return stdio.Rig{
		Version: thisVersion().Version, Policies: policies,
		Session: func(name string) paddock.Principal { return d.Session(policies, name) },
		House:   func(ctx context.Context, warm int) (*app.App, error) { return house(ctx, d, d.State, policies, warm) },
	}
}

// elsewhere are the verbs of a server.
func elsewhere(d *desk.Desk) (desk.Verbs, error) { return afar.Open(d) }

// becomeWhole isn't reached: this program judges by rules.
func becomeWhole() error { return rule.ErrElsewhere }

// here refuses a server beside a command that looks at this machine.
func here(d *desk.Desk, cmd *cobra.Command) error { return afar.Check(d, cmd) }

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
	root.AddGroup(&cobra.Group{ID: "runs", Title: "Runs:"}, &cobra.Group{ID: "rules", Title: "Rules:"}, &cobra.Group{ID: "doors", Title: "Doors:"})
	add := func(group string, cmds ...*cobra.Command) {
		for _, cmd := range cmds {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add("runs", slices.Concat(runs.Commands(d), pages.Commands(d), audits.Commands(d), kept.Commands(d), stock.Commands(d))...)
	add("runs", trees.Command(d))
	add("runs", asked.Command(d), states.Command(d, databases(d)), repos.Command(d), plans.Command(d), delegates.Command(d))
	add("rules", rules.Command(d), doctor.Command(d))
	add("doors", stdio.Command(d, func() stdio.Rig { return agentsRig(d) }), serveCommand(d), crew.Command(d, workerRig(d)), conf.Command(d))
	add("doors", enter.Commands(d)...)
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
