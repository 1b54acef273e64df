package audits

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/client"
	"paddock/internal/client/papers"
	"paddock/internal/journal/sign"
)

// withKey opens the evidence and the key that signs.
func (d commands) withKey(path string, f func(e *evidence.Evidence, key *sign.Key) error) error {
	if path != "" {
		path = d.Absolute(path)
	}
	return d.with(func(e *evidence.Evidence) error {
		key, made, err := e.Key(path)
		if err != nil {
			return err
		}
		if made {
			d.Say("note", "a signing key was made; paddock audit key prints its public part, to be kept elsewhere")
		}
		return f(e, key)
	})
}

const keyFlag = "signing key `FILE`, made when it isn't there (default: beside the journal)"

func (d commands) checkpointCommand() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Sign everything that the journal tells so far",
		Long: `Verify the journal, sign the hash of all its entries, add the signature to the
journal and print it, as a signed note. Kept elsewhere, it proves everything before
it to whoever has the public key.

A key that lies beside the journal protects against accidents only: who can write
the journal can then sign it, too. Keep the key with another account: --key.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.withKey(key, func(e *evidence.Evidence, k *sign.Key) error {
				note, err := e.Checkpoint(cmd.Context(), k)
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(map[string]string{"checkpoint": note})
				}
				_, err = fmt.Fprint(d.Out, note)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", keyFlag)
	return cmd
}

func (d commands) keyCommand() *cobra.Command {
	var key, form string
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key, to be kept elsewhere",
		Long: `Print the public key of who signs. As note (the default) it is what audit verify and
programs for signed notes take, as pem what OpenSSL and most others take.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(_ *cobra.Command, _ []string) error {
			if form != "note" && form != "pem" {
				return desk.Usage(desk.Quote(form)+" isn't a form of a key", "there are note and pem")
			}
			return d.withKey(key, func(_ *evidence.Evidence, k *sign.Key) error {
				pem, err := k.PEM()
				if err != nil {
					return err
				}
				switch {
				case d.JSON:
					return d.Object(map[string]string{"note": k.Verifier(), "pem": pem, "keyid": k.ID()})
				case form == "pem":
					_, err = fmt.Fprint(d.Out, pem)
				default:
					_, err = fmt.Fprintln(d.Out, k.Verifier())
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", keyFlag)
	cmd.Flags().StringVar(&form, "form", "note", "`FORM` to print: note or pem")
	return cmd
}

func (d commands) exportCommand() *cobra.Command {
	var key, run string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the journal, or a signed statement about one run",
		Long: `Print the journal's entries, a JSON object a line. With --run verify that run and
print an in-toto statement about it, in a signed DSSE envelope: this command, with
this policy, printed exactly this. docs/journal.md says how others check it.

With --server the server does so, for runs that it carried out and that you may see.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if at := d.ServerURL(); at != "" {
				return d.asked(cmd, at, run)
			}
			if run == "" {
				d.JSON = true
				return d.with(func(e *evidence.Evidence) error { return d.list(cmd, e, evidence.Filter{}) })
			}
			id, err := desk.RunID(run)
			if err != nil {
				return err
			}
			return d.withKey(key, func(e *evidence.Evidence, k *sign.Key) error {
				envelope, err := e.Attest(cmd.Context(), id, k)
				if err != nil {
					return err
				}
				return d.Object(envelope)
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "attest this settled `RUN`")
	cmd.Flags().StringVar(&key, "key", "", keyFlag)
	return cmd
}

// asked prints the statement that a server makes.
func (d commands) asked(cmd *cobra.Command, at, run string) error {
	if run == "" || cmd.Flags().Changed("key") {
		return desk.Usage("a server makes statements about runs, signed with its own key", "with --server, give --run and no --key")
	}
	id, err := desk.RunID(run)
	if err != nil {
		return err
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	c, err := client.New(at, token)
	if err != nil {
		return err
	}
	envelope, err := papers.Statement(cmd.Context(), c, id)
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	return d.Object(envelope)
}
