package rules

import (
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"

	"paddock"
)

func (d commands) explainCommand() *cobra.Command {
	var f desk.Flags
	cmd := &cobra.Command{
		Use:   "explain [flags] [--] ARGV…",
		Short: "Show what each gate says to a command, without running it",
		Long: `Judge a command exactly as paddock run would and show every gate with its verdict,
what it looked at, and the place in the policy that decided. Nothing is started.
The exit status is 0 when the command would run and 126 when it would be refused.`,
		Example:           `  paddock policy explain -- go test ./...`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, argv []string) error {
			req, err := d.Request(cmd, f, argv)
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				verdict, err := v.Explain(cmd.Context(), req)
				if err != nil {
					return err
				}
				if err := d.Decision(verdict); err != nil {
					return err
				}
				if verdict.Effect != paddock.Allow {
					return desk.ExitStatus(desk.ExitRefused)
				}
				return nil
			})
		},
	}
	d.RequestFlags(cmd, &f)
	return cmd
}
