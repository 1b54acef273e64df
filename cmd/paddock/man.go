//go:build !quick || !linux

package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/manual"
)

func manCommand(d *desk.Desk) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true, // for packagers; people read --help
		Args:   desk.Wants(1, 1, "one directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := d.Absolute(args[0])
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			for _, page := range manual.Pages(cmd.Root(), thisVersion().Version) {
				if err := os.WriteFile(filepath.Join(dir, page.Name), page.Text, 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
