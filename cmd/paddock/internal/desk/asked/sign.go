package asked

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/approval"
	"paddock/internal/auth/keyfile"
	"paddock/internal/journal/sign"
)

// voteFlags are those of what is said.
type voteFlags struct {
	key, reason string
	uses        int
	lasts       time.Duration
}

func (f *voteFlags) add(cmd *cobra.Command, yes bool) {
	cmd.Flags().StringVar(&f.key, "key", "", "your key's `FILE` (default approval.key beside your policies)")
	cmd.Flags().StringVar(&f.reason, "reason", "", "`WORDS` for who asks and for the journal, one line")
	if yes {
		cmd.Flags().IntVar(&f.uses, "uses", 1, "how many runs it may start; no more than the policy gives")
		cmd.Flags().DurationVar(&f.lasts, "for", 15*time.Minute, "how long it may be used; no longer than the policy gives")
	}
}

// sign signs what f says of a.
func (d commands) sign(a paddock.Approval, f voteFlags, yes bool) ([]byte, error) {
	if yes && (f.uses < 1 || f.lasts <= 0) {
		return nil, desk.Usage("--uses and --for are more than nothing", "")
	}
	k, err := sign.Load(d.ApprovalKey(f.key))
	if err != nil {
		return nil, desk.Usage(err.Error(), "paddock approve key makes one; the policy must list it")
	}
	s := approval.Statement{By: d.Operator().ID, Approve: yes, Reason: f.reason, At: d.Now().UTC().Truncate(time.Millisecond)}
	if yes {
		s.Uses, s.Until = f.uses, s.At.Add(f.lasts)
	}
	return approval.Sign(k, a, s)
}

func (d commands) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export ID",
		Short: "Print exactly what is signed, for a person with another account",
		Args:  desk.Wants(1, 1, "one id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := approval.ParseID(args[0])
			if err != nil {
				return desk.Usage(err.Error(), "paddock approve list shows them")
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				text, err := v.Question(cmd.Context(), d.Operator(), id)
				if err == nil {
					_, err = d.Out.Write(text)
				}
				return err
			})
		},
	}
}

func (d commands) signCommand() *cobra.Command {
	var f voteFlags
	var yes, deny bool
	cmd := &cobra.Command{
		Use:   "sign FILE",
		Short: "Show what somebody exported, and sign it with your key",
		Long: `Show what somebody exported, and with --yes or --deny print your signature, which
they add. Nothing but the file and your key is needed: no state directory, and no
policy. What is shown is what is signed.`,
		Example: `  paddock approve export ID > question       the one who asks
  paddock approve sign question               you, to read it
  paddock approve sign --yes question > vote
  paddock approve add ID vote                 the one who asks`,
		Args: desk.Wants(1, 1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := desk.OneOf(cmd, "yes", "deny"); err != nil {
				return err
			}
			text, err := d.file(args[0])
			if err != nil {
				return err
			}
			a, err := approval.Read(text)
			if err != nil {
				return desk.Usage(fmt.Sprintf("%s isn't what paddock approve export prints: %v", desk.Quote(args[0]), err), "")
			}
			if !yes && !deny {
				return d.show(a)
			}
			envelope, err := d.sign(a, f, yes)
			if err == nil {
				_, err = fmt.Fprintf(d.Out, "%s\n", envelope)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "approve it")
	cmd.Flags().BoolVar(&deny, "deny", false, "deny it")
	f.add(cmd, true)
	return cmd
}

func (d commands) addCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "add ID FILE",
		Short: "Add what another person signed",
		Args:  desk.Wants(2, 2, "one id and one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := approval.ParseID(args[0])
			if err != nil {
				return desk.Usage(err.Error(), "paddock approve list shows them")
			}
			envelope, err := d.file(args[1])
			if err != nil {
				return err
			}
			return d.With(cmd.Context(), func(v desk.Verbs) error {
				a, err := v.Vote(cmd.Context(), d.Operator(), id, bytes.TrimSuffix(envelope, []byte("\n")))
				if err != nil {
					return err
				}
				return d.said(a)
			})
		},
	}
}

func (d commands) verifierCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verifier",
		Short: "Print the key by which the server of this state directory vouches for second factors",
		Long: `Print the key by which the server of this state directory vouches that who brought a
vote had shown a second factor to it, as a policy lists it under approvals.verifiers.
Where the server has no key yet it is made.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.ServerURL() != "" {
				return desk.Usage("a server's key is in its state directory", "use it on the machine of the server, without --server")
			}
			if err := d.With(cmd.Context(), func(desk.Verbs) error { return nil }); err != nil {
				return err // it makes the state directory
			}
			secret, err := keyfile.Open(filepath.Join(d.StateDir(d.State), keyfile.Name))
			if err != nil {
				return err
			}
			k, err := keyfile.Verifier(secret)
			if err != nil {
				return err
			}
			if d.JSON {
				return d.Object(map[string]string{"key": approval.KeyText(&k.Public)})
			}
			_, err = fmt.Fprintln(d.Out, approval.KeyText(&k.Public))
			return err
		},
	}
}

const mostFile = 64 << 20

// file reads what a person named; - is standard input.
func (d commands) file(name string) (text []byte, err error) {
	in := d.In
	if name != "-" {
		file, openErr := os.Open(d.Absolute(name))
		if openErr != nil {
			return nil, desk.Usage(openErr.Error(), "")
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		in = file
	}
	text, err = io.ReadAll(io.LimitReader(in, mostFile+1))
	if err == nil && len(text) > mostFile {
		err = desk.Usage(fmt.Sprintf("%s is longer than %d bytes", desk.Quote(name), mostFile), "")
	}
	return text, err
}
