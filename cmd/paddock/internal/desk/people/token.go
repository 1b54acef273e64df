package people

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/client"
)

func (d commands) tokens() *cobra.Command {
	cmd := d.Group(&cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke API tokens",
		Long: `A token lets a program ask a server in its owner's name, for as much as its scopes
name and its owner may: verbs of docs/accounts.md, or runs.* for all of those.`,
		Example: `  paddock token create ci --owner ann --scope 'runs.*' --lasts 720h
  paddock token list
  paddock token revoke ID`,
	})
	cmd.AddCommand(d.tokenCreate(), d.tokenList(), d.tokenRevoke())
	return cmd
}

func (d commands) tokenCreate() *cobra.Command {
	var n client.NewToken
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token; its word is told once",
		Args:  desk.Wants(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := desk.NotEmpty(cmd, "owner"); err != nil {
				return err
			}
			n.Name, n.Scopes, n.Workspaces, n.Lasts = args[0], words(n.Scopes), words(n.Workspaces), paddock.Duration(lasts)
			if len(n.Scopes) == 0 {
				return desk.Usage("a token is for something", "--scope 'runs.*' is for all that is done with runs; docs/accounts.md has the verbs")
			}
			return d.with(cmd.Context(), func(c *client.Client) error {
				made, err := c.MakeToken(cmd.Context(), n)
				if err != nil {
					return err
				}
				return d.once(made, made.Word, fmt.Sprintf("the token %s is good until %s; programs send it as PADDOCK_TOKEN", desk.Plain(made.Token.ID), when(made.Token.Expires)))
			})
		},
	}
	cmd.Flags().StringVar(&n.Owner, "owner", "", "the `NAME` of the user whose token it is")
	cmd.Flags().StringSliceVar(&n.Scopes, "scope", nil, "the `VERB`s that it is good for, or runs.* for all of those; several with commas")
	cmd.Flags().StringSliceVar(&n.Workspaces, "workspace", nil, "the `NAME`s of workspaces that it is good for (default all)")
	cmd.Flags().DurationVar(&lasts, "lasts", 30*24*time.Hour, "how long it is good for, at most 366 days")
	return cmd
}

func (d commands) tokenList() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List API tokens, newest first",
		Args:  desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				list, err := c.Tokens(cmd.Context())
				if err != nil {
					return err
				}
				shown := []client.Token{}
				for _, t := range list {
					if all || t.Revoked == nil && t.Expires != nil && t.Expires.After(d.Now()) {
						shown = append(shown, t)
					}
				}
				if d.JSON {
					return d.Object(map[string]any{"tokens": shown})
				}
				rows := [][]string{{"ID", "NAME", "BEGINS", "SCOPES", "UNTIL", "LAST USED"}}
				for _, t := range shown {
					until := when(t.Expires)
					if t.Revoked != nil {
						until = "revoked " + when(t.Revoked)
					}
					rows = append(rows, []string{t.ID, t.Name, t.Prefix, strings.Join(t.Scopes, " "), until, when(t.LastUsed)})
				}
				return d.table(rows)
			})
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also those that are revoked or over")
	return cmd
}

func (d commands) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "End a token for good",
		Args:  desk.Wants(1, 1, "one id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				return d.done(args[0], c.RevokeToken(cmd.Context(), args[0]))
			})
		},
	}
}
