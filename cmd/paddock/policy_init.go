package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (c *cli) policyInitCommand() *cobra.Command {
	return &cobra.Command{Use: "init", Short: "Propose a policy for the project here", RunE: func(*cobra.Command, []string) error { return errors.New("not wired yet") }}
}
