// Package enter has the commands by which a person logs in at a server, and out: login
// makes a token for this user's commands and keeps it, logout ends it.
//
// # Limits
//
// Providers of identity and passkeys want a browser: who logs in by those makes a token on
// the server's page.
package enter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/auth"
	"paddock/internal/client"
	"paddock/internal/client/enter"
)

// lasts is how long a login is good that isn't told.
const lasts = 30 * 24 * time.Hour

type commands struct{ *desk.Desk }

// Commands returns login and logout.
func Commands(at *desk.Desk) []*cobra.Command {
	d := commands{at}
	return []*cobra.Command{d.login(), d.logout()}
}

// usual is what a login is good for that isn't told.
func usual() []string { return []string{"runs.*", "workspaces.*", "approvals.*", "quotas.*", "whoami"} }

func (d commands) login() *cobra.Command {
	var want client.NewToken
	var long time.Duration
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in at a server, for the commands that work with it",
		Long: `Ask for a name and a password, or for the code of a link or an invitation, make an
API token by them and keep it in your configuration, where nobody else can read it.
Commands with --server use it from then on; PADDOCK_TOKEN is used in its place where
it is set. Where standard input isn't a terminal, its lines are taken in the same
order.

Nothing secret is ever a word of the command line or of an address, and a server on
another machine is asked by https alone.`,
		Example: `  paddock login --server https://paddock.example.org
  paddock login --server https://paddock.example.org --scope runs.read,runs.list --lasts 8h`,
		Args: desk.Wants(0, 0, "no words; what is secret is asked for"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := d.server()
			if err != nil {
				return err
			}
			if d.Logins() == "" {
				return desk.Usage("there is no place where a login could be kept", "set HOME or XDG_CONFIG_HOME")
			}
			if long < time.Minute {
				return desk.Usage("--lasts is at least a minute", "")
			}
			want.Lasts, want.Name = paddock.Duration(long), "paddock login"
			if host, err := os.Hostname(); err == nil {
				want.Name = auth.Label("paddock login at " + host)
			}
			return d.enter(cmd.Context(), at, want)
		},
	}
	cmd.Flags().StringSliceVar(&want.Scopes, "scope", usual(), "the `VERB`s that it is good for, or runs.* for all of those; several with commas")
	cmd.Flags().StringSliceVar(&want.Workspaces, "workspace", nil, "the `NAME`s of workspaces that it is good for (default all)")
	cmd.Flags().DurationVar(&long, "lasts", lasts, "how long it is good for, at most 366 days")
	return cmd
}

// server is the one that is named, which must be one that may be asked.
func (d commands) server() (string, error) {
	at := d.ServerURL()
	if at == "" {
		return "", desk.Usage("which server?", "--server https://paddock.example.org, or PADDOCK_SERVER")
	}
	c, err := client.New(at, "")
	if err == nil {
		err = c.Close()
	}
	return at, err
}

func (d commands) enter(ctx context.Context, at string, want client.NewToken) error {
	proof, err := d.proof(ctx)
	if err != nil {
		return err
	}
	e, err := enter.Enter(ctx, at, proof, want)
	var r *paddock.Refusal
	if errors.As(err, &r) && r.Code == paddock.Unauthenticated {
		said := *r
		said.Hint = "Try again, or ask an admin for a link: paddock user link NAME."
		return &said
	}
	if err != nil {
		if e.Made.Word != "" { // the session wasn't ended; the token needn't stay, too
			err = errors.Join(err, enter.End(context.WithoutCancel(ctx), at, e.Made.Word))
		}
		return err
	}
	l := desk.Login{Server: at, Name: e.Name, Token: e.Made.Word, ID: e.Made.Token.ID}
	if e.Made.Token.Expires != nil {
		l.Expires = *e.Made.Token.Expires
	}
	before, _ := d.Logins().Of(at) // what can't be read is replaced
	if err := d.Logins().Keep(l); err != nil {
		return errors.Join(err, enter.End(context.WithoutCancel(ctx), at, l.Token))
	}
	if before.Token != "" {
		if err := enter.End(ctx, at, before.Token); err != nil && !over(err) {
			d.Say("note", "the login of before couldn't be ended: "+desk.Plain(err.Error()))
		}
	}
	if d.JSON {
		return d.Object(struct {
			Server  string    `json:"server"`
			Name    string    `json:"name"`
			Role    string    `json:"role"`
			ID      string    `json:"token_id"`
			Scopes  []string  `json:"scopes"`
			Expires time.Time `json:"expires_at"`
		}{desk.Origin(at), e.Name, e.Role, l.ID, e.Made.Token.Scopes, l.Expires})
	}
	return d.Fields([][2]string{
		{"server", desk.Plain(desk.Origin(at))},
		{"name", desk.Plain(e.Name) + ", " + desk.Plain(e.Role)},
		{"good for", desk.Plain(strings.Join(e.Made.Token.Scopes, " "))},
		{"until", l.Expires.UTC().Format(time.RFC3339)},
	})
}

func (d commands) logout() *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:   "logout",
		Short: "End the login at a server",
		Long: `End the token that paddock login made, at the server and here. With --forget only
what is kept here is removed, as where the server can't be reached: revoke the token
on its page then.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := d.server()
			if err != nil {
				return err
			}
			if !forget {
				if err := d.end(cmd.Context(), at); err != nil {
					return err
				}
			}
			err = d.Logins().Forget(at)
			if errors.Is(err, fs.ErrNotExist) {
				return paddock.Refused(paddock.NotFound, "There is no login at %s.", desk.Plain(desk.Origin(at)))
			}
			if err != nil {
				return err
			}
			if d.JSON {
				return d.Object(map[string]string{"logged_out": desk.Origin(at)})
			}
			_, err = fmt.Fprintf(d.Out, "logged out at %s\n", desk.Plain(desk.Origin(at)))
			return err
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "only remove what is kept here")
	return cmd
}

// end ends the token at the server, if it is still good there.
func (d commands) end(ctx context.Context, at string) error {
	l, err := d.Logins().Of(at)
	if err != nil {
		return desk.Usage(err.Error(), "paddock logout --forget removes it")
	}
	if l.Token == "" {
		return nil
	}
	err = enter.End(ctx, at, l.Token)
	if err == nil || over(err) {
		return nil
	}
	var r *paddock.Refusal
	if errors.As(err, &r) {
		return err
	}
	return desk.Usage(err.Error(), "paddock logout --forget only removes what is kept here; revoke the token "+l.ID+" on the server's page then")
}

// over reports whether a token isn't good any more.
func over(err error) bool {
	var r *paddock.Refusal
	return errors.As(err, &r) && r.Code == paddock.Unauthenticated
}
