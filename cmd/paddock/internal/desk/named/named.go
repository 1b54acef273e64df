// Package named finds commands by their names alone.
//
// # Limits
//
// It knows no aliases, and guesses at nothing that is only similar.
package named

import "github.com/spf13/cobra"

// Under are the visible commands that have a name, wherever they are below top, each with
// the words by which it is called.
func Under(top *cobra.Command, name string) (paths []string) {
	for _, c := range top.Commands() {
		if c.Hidden {
			continue
		}
		if c.Name() == name {
			paths = append(paths, c.CommandPath())
		}
		paths = append(paths, Under(c, name)...)
	}
	return paths
}
