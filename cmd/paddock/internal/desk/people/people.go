// Package people has the commands about who may use a server and who works for it: users,
// invitations, API tokens and workers. With --server they ask that server; without, they work on the accounts of
// the state directory here, as the operator of the machine.
//
// # Limits
//
// What may be is the server's to say: nothing is checked here but that words are there.
// On this machine the commands need the program of the server, which has the drivers of
// databases.
package people

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/client"
)

type commands struct {
	*desk.Desk
	open Opener
}

// An Opener gives a client of the accounts here; done lets go of them.
type Opener func(ctx context.Context) (c *client.Client, done func() error, err error)

// Commands returns user, invite, token and workers. Opener is for when no server is named.
func Commands(d *desk.Desk, open Opener) []*cobra.Command {
	c := commands{d, open}
	return []*cobra.Command{c.users(), c.invitations(), c.tokens(), c.workers()}
}

// with asks a server, or the accounts here.
func (d commands) with(ctx context.Context, f func(c *client.Client) error) error {
	if at := d.ServerURL(); at != "" {
		token, err := d.Token()
		if err != nil {
			return err
		}
		c, err := client.New(at, token)
		if err != nil {
			return err
		}
		return errors.Join(f(c), c.Close())
	}
	c, done, err := d.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(c), done())
}

// table prints rows below one another.
func (d commands) table(rows [][]string) error {
	w := tabwriter.NewWriter(d.Out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = desk.Plain(row[i])
		}
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// when is a moment, or that there was none.
func when(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// once prints what is told once, so that it can be taken by a script: alone on standard
// output, and what to do with it beside.
func (d commands) once(v any, secret, say string) error {
	if d.JSON {
		return d.Object(v)
	}
	d.Say("note", say)
	_, err := fmt.Fprintln(d.Out, secret)
	return err
}
