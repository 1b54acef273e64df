//go:build quick && linux

package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/pages"
	"paddock/cmd/paddock/internal/desk/runs"
	"paddock/internal/executor/stages"
)

// execute runs the command line args and returns the status to exit with. What starts
// runs, looks at them and reads them is here, since it is asked again and again; for all
// else, for work with a server, and where a policy has rules, this process becomes the
// program that has everything.
func execute(ctx context.Context, d *desk.Desk, args []string) int {
	root := &cobra.Command{Use: "paddock", SilenceUsage: true, SilenceErrors: true}
	everywhere(root, d)
	root.AddCommand(append(runs.Commands(d), pages.Commands(d)...)...)
	if cmd, _, err := root.Find(args); err != nil || cmd == root {
		err = becomeWhole()
		d.Tell(err)
		return desk.StatusOf(err)
	}
	return perform(ctx, d, root, args)
}

// here has whoever works with a server do so.
func here(d *desk.Desk, _ *cobra.Command) error {
	if d.ServerURL() == "" {
		return nil
	}
	return becomeWhole()
}

// elsewhere isn't reached: see here.
func elsewhere(*desk.Desk) (desk.Verbs, error) { return nil, becomeWhole() }

// becomeWhole goes on as the program that has everything, with the same words,
// environment and descriptors. It returns only an error.
func becomeWhole() error {
	err := stages.BecomeServer(os.Args[1:], os.Environ(), stages.AllHanded)
	return desk.Usage("this program starts runs and reads them, and becomes the one beside it for all else: "+err.Error(), "")
}
