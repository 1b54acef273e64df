package runs

import (
	"crypto/sha256"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
)

func (d commands) showCommand() *cobra.Command {
	policy := false
	cmd := &cobra.Command{
		Use:   "show [--policy-text] RUN",
		Short: "Show everything that was written down about a run",
		Long: `Show the whole record of a run: who asked for what, how each gate decided, what the
program got (names of environment variables, never values), what was enforced,
and how it ended.

With --policy-text, print the exact text of the policy that allowed it instead, with all
that belonged to it, whatever the policy says now.`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				if policy {
					return d.policyText(cmd, v, id)
				}
				detail, err := v.Detail(cmd.Context(), d.Operator(), id)
				if err != nil {
					return err
				}
				return d.Detail(detail)
			})
		},
	}
	cmd.Flags().BoolVar(&policy, "policy-text", false, "print the policy that allowed it")
	return cmd
}

func (d commands) policyText(cmd *cobra.Command, v desk.Verbs, id paddock.RunID) error {
	text, err := v.PolicyText(cmd.Context(), d.Operator(), id)
	if err != nil {
		return err
	}
	if d.JSON {
		return d.Object(struct {
			Run    paddock.RunID  `json:"run"`
			Digest paddock.Digest `json:"policy_digest"`
			Text   string         `json:"text"`
		}{id, paddock.DigestOf(sha256.Sum256(text)), string(text)})
	}
	_, err = d.Out.Write(text)
	return err
}
