package people

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/client"
)

const roles = "viewer, operator, approver or admin"

func (d commands) users() *cobra.Command {
	cmd := d.Group(&cobra.Command{
		Use:   "user",
		Short: "Look at who has an account, and change roles",
		Long: `Accounts are those of a server: of --server URL, with the operator's token in
PADDOCK_TOKEN, or of the state directory here. API tokens can't change accounts.
docs/accounts.md has the roles.`,
		Example: `  paddock user list
  paddock user role ann approver
  paddock user disable ann
  paddock user link admin          a code that logs admin in once`,
	})
	cmd.AddCommand(d.userList(), d.userActive(), d.userShow(), d.userRole(), d.userDisable(true), d.userDisable(false), d.userLink())
	return cmd
}

func (d commands) userList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List who has an account, newest first",
		Args:  desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				all, err := c.Users(cmd.Context())
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(map[string]any{"users": all})
				}
				rows := [][]string{{"NAME", "ROLE", "STATE", "SINCE"}}
				for _, u := range all {
					rows = append(rows, []string{u.Name, u.Role, state(u), when(u.Created)})
				}
				return d.table(rows)
			})
		},
	}
}

func state(u client.User) string {
	switch {
	case u.Disabled:
		return "disabled"
	case !u.Password:
		return "no password"
	}
	return "active"
}

func (d commands) userShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show one user",
		Args:  desk.Wants(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				all, err := c.Users(cmd.Context())
				if err != nil {
					return err
				}
				for _, u := range all {
					if u.Name == args[0] {
						return d.show(u)
					}
				}
				r := paddock.Refused(paddock.NotFound, "There is no user %s.", desk.Quote(args[0]))
				r.Hint = "paddock user list has them all"
				return r
			})
		},
	}
}

func (d commands) show(u client.User) error {
	if d.JSON {
		return d.Object(u)
	}
	return d.Fields([][2]string{{"name", desk.Plain(u.Name)}, {"role", desk.Plain(u.Role)}, {"state", state(u)}, {"since", when(u.Created)}, {"id", desk.Plain(u.ID)}})
}

func (d commands) userRole() *cobra.Command {
	return &cobra.Command{
		Use:   "role NAME ROLE",
		Short: "Give a user another role; all of his sessions end",
		Args:  desk.Wants(2, 2, "a name and a role: "+roles),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				u, err := c.ChangeUser(cmd.Context(), args[0], client.Change{Role: &args[1]})
				return d.changed(u, err)
			})
		},
	}
}

func (d commands) changed(u client.User, err error) error {
	if err != nil {
		return err
	}
	return d.show(u)
}

func (d commands) userDisable(yes bool) *cobra.Command {
	use, short := "disable", "Keep a user out: his sessions end and his tokens are revoked"
	if !yes {
		use, short = "enable", "Let a user log in again"
	}
	return &cobra.Command{
		Use:   use + " NAME",
		Short: short,
		Args:  desk.Wants(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				u, err := c.ChangeUser(cmd.Context(), args[0], client.Change{Disabled: &yes})
				return d.changed(u, err)
			})
		},
	}
}

func (d commands) userLink() *cobra.Command {
	var reset bool
	cmd := &cobra.Command{
		Use:   "link NAME",
		Short: "Make a code that logs a user in once, within an hour",
		Long: `Make a code that logs a user in once, within an hour: for who lost every other way
in. It is printed alone on standard output, and it is told once.`,
		Args: desk.Wants(1, 1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd.Context(), func(c *client.Client) error {
				code, err := c.Link(cmd.Context(), args[0], reset)
				if err != nil {
					return err
				}
				return d.once(code, code.Code, fmt.Sprintf("the code logs %s in once, until %s, on the page or at /login#CODE of the server", desk.Plain(args[0]), when(code.Expires)))
			})
		},
	}
	cmd.Flags().BoolVar(&reset, "reset", false, "also take the password away, and end all sessions")
	return cmd
}

// words splits what was given several at a time.
func words(list []string) []string {
	var all []string
	for _, one := range list {
		for word := range strings.SplitSeq(one, ",") {
			if word = strings.TrimSpace(word); word != "" {
				all = append(all, word)
			}
		}
	}
	return all
}
