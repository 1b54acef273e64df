package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy/compiled/rule"
)

func init() { cobra.EnableCommandSorting = false } // ours is the order of use

// perform has the command of root that args name done, and returns the status to exit
// with.
func perform(ctx context.Context, d *desk.Desk, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(d.In)
	root.SetOut(d.Out)
	root.SetErr(d.Err)
	err := root.ExecuteContext(ctx)
	if errors.Is(err, rule.ErrElsewhere) { // before anything was written or said
		err = becomeWhole()
	}
	d.Tell(err)
	return desk.StatusOf(err)
}

// everywhere adds what every command has.
func everywhere(root *cobra.Command, d *desk.Desk) {
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return desk.Usage(err.Error(), cmd.CommandPath()+" --help shows the flags")
	})
	root.PersistentFlags().StringVar(&d.State, "state", "", "state `DIR` (default $PADDOCK_STATE, $XDG_STATE_HOME/paddock or ~/.local/state/paddock)")
	root.PersistentFlags().StringVar(&d.Policy, "policy", "", "policy `FILE` (default $PADDOCK_POLICY, the project's own, or /etc/paddock/policy.yaml)")
	root.PersistentFlags().StringVar(&d.Server, "server", "", "`URL` of a server to work with, with the token in $PADDOCK_TOKEN or that of paddock login (default $PADDOCK_SERVER, or the state directory here)")
	root.PersistentFlags().BoolVar(&d.JSON, "json", false, "print JSON instead of text")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := desk.NotEmpty(cmd, "state", "policy", "dir", "server"); err != nil {
			return err
		}
		return here(d, cmd)
	}
	if err := errors.Join(root.MarkPersistentFlagFilename("policy", "yaml", "yml"), root.MarkPersistentFlagDirname("state")); err != nil {
		panic(err) // both are declared above
	}
}
