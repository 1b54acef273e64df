package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve an agent over MCP on standard input and output",
		Args:  wants(0, 0, "no words"),
		RunE:  func(*cobra.Command, []string) error { return errors.New("not wired yet") },
	}
}
