// Package rules has the commands that make, check and question policies.
//
// # Limits
//
// A policy is compiled by package policy and requests are judged by the verbs;
// what a proposal allows is package propose's to say.
package rules

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/changes"
	"paddock/cmd/paddock/internal/desk/rules/inspect"
	"paddock/cmd/paddock/internal/desk/rules/intake"
	"paddock/cmd/paddock/internal/desk/rules/lookup"
	"paddock/cmd/paddock/internal/desk/rules/survey"
)

// commands are the commands at a desk.
type commands struct{ *desk.Desk }

// Command returns the command policy with those below it.
func Command(at *desk.Desk) *cobra.Command {
	d := commands{at}
	cmd := d.Group(&cobra.Command{
		Use:   "policy",
		Short: "Make, check and question the policy",
		Long: `A policy says what may run where. It is found in this order: --policy, then
PADDOCK_POLICY, then the one that policy init made for this directory or one above
it, then a paddock.yaml here or above whose exact content was trusted, then
` + desk.SystemPolicy + `. Without one, nothing runs.`,
	})
	cmd.AddCommand(d.checkCommand(), d.explainCommand(), d.initCommand(), d.trustCommand(), d.pathCommand(), d.pinCommand())
	cmd.AddCommand(inspect.Commands(at, inspect.Files{
		Policy: d.policyFile, Real: lookup.RealPath, RootOwns: lookup.RootOwns, Rewrite: lookup.Rewrite, Agree: d.ask,
		Program: func(word string) string { return survey.Program(word, at.Getenv) },
	})...)
	program := func(name string) string { return survey.Program(name, at.Getenv) }
	cmd.AddCommand(changes.Command(at))
	cmd.AddCommand(intake.Command(at, intake.Files{Read: lookup.ReadAny, Real: lookup.RealPath, Program: program}))
	return cmd
}
