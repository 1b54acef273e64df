package main

import "github.com/spf13/cobra"

func (c *cli) policyCommand() *cobra.Command {
	cmd := c.group(&cobra.Command{
		Use:   "policy",
		Short: "Make, check and question the policy",
		Long: `A policy says what may run where. It is found in this order: --policy, then
PADDOCK_POLICY, then the one that policy init made for this directory or one above
it, then a paddock.yaml here or above whose exact content was trusted, then
` + systemPolicy + `. Without one, nothing runs.`,
	})
	cmd.AddCommand(c.policyCheckCommand(), c.policyExplainCommand(), c.policyInitCommand(), c.policyTrustCommand(), c.policyPathCommand())
	return cmd
}
