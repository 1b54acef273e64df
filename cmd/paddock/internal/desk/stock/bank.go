package stock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
)

// mostBanked bounds what is read to be kept; the policy has a limit of its own.
const mostBanked = 1 << 30

// bankCommand keeps what somebody gives as if a program had printed it.
func (d commands) bankCommand() *cobra.Command {
	var label, session string
	cmd := &cobra.Command{
		Use:   "bank [FILE]",
		Short: "Keep a file, or standard input, as the output of a run",
		Long: `Keep what is in FILE, or on standard input, as an artifact, and print its id. It is read
as the output of a run is, and kept and pruned like it; the policy's limit of output
says how large it may be. With --session it belongs to an agent, which reads it with
retrieve_context: to that of paddock mcp --session NAME under the policy that applies
here, or, where there is a colon in it, to the principal of that id.`,
		Example: `  paddock bank --label 'failing tests' report.txt
  go vet ./... 2>&1 | paddock bank --label vet --session review`,
		Args: desk.Wants(0, 1, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in, name := d.In, "standard input"
			if len(args) == 1 {
				f, wrong := os.Open(args[0])
				if wrong != nil {
					return desk.Usage(desk.Plain(wrong.Error()), "name a file that can be read, or none for standard input")
				}
				defer func() { err = errors.Join(err, f.Close()) }()
				in, name = f, args[0]
			}
			if label == "" {
				label = desk.Plain(name)
			}
			owner := d.Operator()
			if session != "" {
				if len(session) > paddock.MaxPrincipal || desk.Plain(session) != session || strings.TrimSpace(session) == "" || !strings.Contains(session, ":") && !desk.SessionName(session) {
					return desk.Usage("--session is "+desk.Quote(session), fmt.Sprintf("want the NAME of mcp --session, or the id of an agent, as paddock ps --json prints it: one line of at most %d bytes", paddock.MaxPrincipal))
				}
				owner = paddock.Principal{Kind: paddock.Agent, ID: session}
				if !strings.Contains(session, ":") {
					owner = d.SessionHere(session)
				}
			}
			payload, err := io.ReadAll(io.LimitReader(in, mostBanked+1))
			if err != nil {
				return desk.Usage(desk.Plain(err.Error()), "")
			}
			if len(payload) > mostBanked {
				return desk.Usage(fmt.Sprintf("%s has more than %d bytes", desk.Quote(name), mostBanked), "keep it in parts")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				run, err := v.Bank(cmd.Context(), d.Operator(), owner, paddock.DoorCLI, label, payload)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(run)
				}
				_, err = fmt.Fprintln(d.Out, run.ID)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&label, "label", "", "`TEXT` for people, in place of the file's name")
	cmd.Flags().StringVar(&session, "session", "", "the agent that it belongs to: the `NAME` of mcp --session, or its principal's id")
	return cmd
}
