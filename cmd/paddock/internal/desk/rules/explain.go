package rules

import (
	"fmt"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"

	"paddock"
	"paddock/internal/task/delegate"
)

func (d commands) explainCommand() *cobra.Command {
	var f desk.Flags
	var agent string
	cmd := &cobra.Command{
		Use:   "explain [flags] [--] ARGV… | --delegate NAME [TASK]",
		Short: "Show what each gate says to a command, without running it",
		Long: `Judge a command exactly as paddock run would and show every gate with its verdict,
what it looked at, and the place in the policy that decided. Nothing is started.
The exit status is 0 when the command would run and 126 when it would be refused.

With --delegate it is the program of an agent that the policy's delegates section lists,
as paddock delegate start would start it from outside of any delegate. How deep delegates
may have delegates, and whose turn it is, isn't asked.`,
		Example: `  paddock policy explain -- go test ./...
  paddock policy explain --delegate reviewer`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, argv []string) error {
			req, err := d.Request(cmd, f, argv)
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				verdict, err := d.judged(cmd, v, req, agent)
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
	cmd.Flags().StringVar(&agent, "delegate", "", "the agent called `NAME` of the policy, instead of a command")
	return cmd
}

// judged asks for a command, or for an agent with a task, which is any where none is said.
func (d commands) judged(cmd *cobra.Command, v desk.Verbs, req paddock.Request, agent string) (paddock.Decision, error) {
	if !cmd.Flags().Changed("delegate") {
		return v.Explain(cmd.Context(), req)
	}
	for _, name := range []string{"idle", "output-limit", "disk-limit", "stdin-text", "stdin-file", "stdin-run", "env"} {
		if cmd.Flags().Changed(name) {
			return paddock.Decision{}, desk.Usage("--"+name+" can't be said of a delegate", "the task is the word that follows; --dir, --timeout and --label are its own")
		}
	}
	ask := delegate.Ask{Principal: req.Principal, Door: req.Door, Provider: agent, Task: "a task", Label: req.Command.Label, Timeout: req.Command.Timeout}
	if cmd.Flags().Changed("dir") {
		ask.Dir = req.Command.Dir
	}
	switch words := req.Command.Argv; len(words) {
	case 0:
	case 1:
		ask.Task = words[0]
	default:
		return paddock.Decision{}, desk.Usage(fmt.Sprintf("%d words follow --delegate", len(words)), "want one text, the task, or none")
	}
	return v.ExplainDelegate(cmd.Context(), ask)
}
