// Package runs has the commands that start runs, watch them and end them.
//
// # Limits
//
// Whether a thing may be is asked of the verbs and nowhere here.
package runs

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
)

// commands are the commands at a desk.
type commands struct{ *desk.Desk }

// Commands returns the commands in the order of use.
func Commands(at *desk.Desk) []*cobra.Command {
	d := commands{at}
	return []*cobra.Command{d.runCommand(), d.attachCommand(), d.psCommand(), d.waitCommand(), d.statusCommand(), d.showCommand(), d.killCommand()}
}
