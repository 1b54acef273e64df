// Package pages has the commands that read what runs have printed.
//
// # Limits
//
// How output is cleaned for a terminal is known to package clean. Which output
// there is, and how long to wait for more, is asked of the verbs.
package pages

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
)

// commands are the commands at a desk.
type commands struct{ *desk.Desk }

// Commands returns the commands in the order of use.
func Commands(at *desk.Desk) []*cobra.Command {
	d := commands{at}
	return []*cobra.Command{d.outputCommand(), d.logsCommand()}
}
