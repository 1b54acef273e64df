package stock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
)

// bankCommand keeps what somebody gives as if a program had printed it.
func (d commands) bankCommand() *cobra.Command {
	var label, session string
	cmd := &cobra.Command{
		Use:   "bank [FILE|-]",
		Short: "Keep a file, or standard input, as the output of a run",
		Long: `Keep what is in FILE, or on standard input, as an artifact, and print its id. It is read
as the output of a run is, and kept and pruned like it; the policy's limit of output
says how large it may be: a larger file isn't read at all, and of standard input no more
is read than that. FILE is a regular file. With --session it belongs to an agent, which reads it with
retrieve_context: to that of paddock mcp --session NAME under the policy that applies
here, or, where there is a colon in it, to the principal of that id.`,
		Example: `  paddock bank --label 'failing tests' report.txt
  go vet ./... 2>&1 | paddock bank --label vet --session review`,
		Args: desk.Wants(0, 1, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "standard input"
			if len(args) == 1 && args[0] != "-" {
				name = args[0]
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
			payload, err := d.payload(args)
			if err != nil {
				return err
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

// payload reads what is to be kept: a file's content, or standard input.
func (d commands) payload(args []string) (_ []byte, err error) {
	most, err := d.OutputLimit()
	if err != nil {
		return nil, err
	}
	if len(args) == 0 || args[0] == "-" {
		return d.bounded(d.In, "standard input", most)
	}
	// Opening a pipe waits for whoever writes, and opening a device may do anything.
	f, err := os.OpenFile(d.Absolute(args[0]), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, desk.Usage(desk.Plain(err.Error()), "name a file that can be read, or none for standard input")
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, desk.Usage(desk.Quote(args[0])+" is no regular file", "name one, or have what it gives on standard input: paddock bank - < FILE")
	case info.Size() > most:
		return nil, tooLarge(fmt.Sprintf("%s has %d bytes", desk.Quote(args[0]), info.Size()), most)
	}
	return d.bounded(f, desk.Quote(args[0]), most)
}

// bounded reads all of in, which may have most bytes.
func (d commands) bounded(in io.Reader, name string, most int64) ([]byte, error) {
	payload, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, desk.Usage(desk.Plain(err.Error()), "")
	case int64(len(payload)) > most:
		return nil, tooLarge(name+" has more bytes than that", most)
	}
	return payload, nil
}

func tooLarge(what string, most int64) error {
	r := paddock.Refused(paddock.LimitExceeded, "The policy's limit of output is %d bytes, and %s.", most, what)
	r.Gate, r.Hint = "", "Give less, or in parts; or the operator raises `limits.output`."
	return r
}
