package people

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/client"
)

func (d commands) invitations() *cobra.Command {
	cmd := d.Group(&cobra.Command{
		Use:   "invite",
		Short: "Let somebody make an account",
		Long: `An invitation lets one person make an account, once and within a week: who has its
code, or whom a provider of identity calls so.`,
		Example: `  paddock invite create --role operator
  paddock invite create --role viewer --provider example --identity email:ann@example.org
  paddock invite list`,
	})
	cmd.AddCommand(d.inviteCreate(), d.inviteList(), d.inviteRevoke())
	return cmd
}

func (d commands) inviteCreate() *cobra.Command {
	var n client.NewInvitation
	cmd := &cobra.Command{
		Use:   "create --role ROLE",
		Short: "Invite one person; the code is told once",
		Args:  desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := desk.NotEmpty(cmd, "role", "provider", "identity"); err != nil {
				return err
			}
			if n.Role == "" {
				return desk.Usage("an invitation is for a role", "--role "+roles)
			}
			return d.with(cmd.Context(), func(c *client.Client) error {
				made, err := c.Invite(cmd.Context(), n)
				switch {
				case err != nil:
					return err
				case made.Code == "" && !d.JSON:
					_, err = fmt.Fprintf(d.Out, "%s is invited, until %s\n", desk.Plain(made.Invitation.Invitee), when(made.Invitation.Expires))
					return err
				}
				return d.once(made, made.Code, fmt.Sprintf("the code makes one account with the role %s, until %s, on the page of the server", desk.Plain(n.Role), when(made.Invitation.Expires)))
			})
		},
	}
	cmd.Flags().StringVar(&n.Role, "role", "", "the `ROLE` of the account to be: "+roles)
	cmd.Flags().StringVar(&n.Provider, "provider", "", "the `NAME` of a provider of identity, of server.yaml")
	cmd.Flags().StringVar(&n.Identity, "identity", "", "what the provider calls the person, as `KIND:VALUE`: email, sub, login or id")
	return cmd
}

func (d commands) inviteList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List invitations, newest first",
		Args:  desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				all, err := c.Invitations(cmd.Context())
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(map[string]any{"invitations": all})
				}
				rows := [][]string{{"ID", "ROLE", "FOR", "UNTIL", "USED"}}
				for _, i := range all {
					invitee := i.Invitee
					if invitee == "" {
						invitee = "who has the code"
					}
					rows = append(rows, []string{i.ID, i.Role, invitee, when(i.Expires), when(i.Used)})
				}
				return d.table(rows)
			})
		},
	}
}

func (d commands) inviteRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take an invitation back",
		Args:  desk.Wants(1, 1, "one id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				return d.done(args[0], c.RemoveInvitation(cmd.Context(), args[0]))
			})
		},
	}
}

// done says that something is no more.
func (d commands) done(id string, err error) error {
	if err != nil {
		return err
	}
	if d.JSON {
		return d.Object(map[string]any{"revoked": strings.ToValidUTF8(id, "")})
	}
	_, err = fmt.Fprintf(d.Out, "%s is revoked\n", desk.Plain(id))
	return err
}
