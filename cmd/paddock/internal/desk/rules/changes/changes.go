// Package changes has the command about policies of the past.
//
// # Limits
//
// What they were is said by the journal here, or by a server.
package changes

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/ruled"
	"paddock/internal/client"
	"paddock/internal/client/papers"
)

type command struct{ *desk.Desk }

// Command returns the command.
func Command(at *desk.Desk) *cobra.Command {
	d := command{at}
	var after int64
	var limit int
	cmd := &cobra.Command{
		Use:   "changes [DIGEST]",
		Short: "List which policy decided from when on, or print one",
		Long: `List each change of the policy that the journal tells of, oldest first: when another
one began to decide, who asked first under it, and what was refused since it has
errors. With a digest print that policy's text, with all that belongs to it, as long
as a run that it allowed is kept.`,
		Example: `  paddock policy changes
  paddock policy changes --server https://paddock.example.org
  paddock policy changes sha256:9f86d0…`,
		Args: desk.Wants(0, 1, "at most one digest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return desk.Usage("--limit is at least 1", "")
			}
			if len(args) == 1 {
				text, err := d.text(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return d.print(text)
			}
			page, err := d.list(cmd.Context(), after, limit)
			if err != nil {
				return err
			}
			return d.table(page)
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "only changes after this `NUMBER`, to go on with")
	cmd.Flags().IntVar(&limit, "limit", ruled.Usual, "how `MANY`, at most 1000")
	return cmd
}

func (d command) text(ctx context.Context, digest string) (t ruled.Text, err error) {
	err = d.ask(func(c *client.Client) error {
		t, err = papers.Text(ctx, c, digest)
		return err
	}, func(e *evidence.Evidence) error {
		t, err = ruled.Read(e, digest)
		return err
	})
	return t, err
}

func (d command) list(ctx context.Context, after int64, limit int) (page ruled.Changes, err error) {
	err = d.ask(func(c *client.Client) error {
		page, err = papers.Changes(ctx, c, after, limit)
		return err
	}, func(e *evidence.Evidence) error {
		page, err = ruled.List(ctx, e, after, limit)
		return err
	})
	return page, err
}

// ask asks a server, or the state directory here.
func (d command) ask(afar func(*client.Client) error, here func(*evidence.Evidence) error) error {
	if at := d.ServerURL(); at != "" {
		token, err := d.Token()
		if err != nil {
			return err
		}
		c, err := client.New(at, token)
		if err != nil {
			return err
		}
		return errors.Join(afar(c), c.Close())
	}
	state := d.StateDir(d.State)
	if state == "" {
		return desk.Usage("there is no place where a journal could be", "set HOME, or name a directory with --state")
	}
	e, err := evidence.Open(d.Operator(), state, d.Now)
	if err != nil {
		return err
	}
	return errors.Join(here(e), e.Close())
}

func (d command) print(t ruled.Text) error {
	if d.JSON {
		return d.Object(t)
	}
	_, err := fmt.Fprint(d.Out, t.Text)
	return err
}

func (d command) table(page ruled.Changes) error {
	if d.JSON {
		return d.Object(page)
	}
	w := tabwriter.NewWriter(d.Out, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(w, "NUMBER\tWHEN\tPOLICY\tWHAT"); err != nil {
		return err
	}
	for _, c := range page.Changes {
		if _, err := fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", c.Seq, c.At.UTC().Format(time.RFC3339), c.Policy, desk.Plain(what(c))); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if page.Next != 0 {
		d.Say("note", fmt.Sprintf("there are more: --after %d", page.Next))
	}
	return nil
}

// what says what a change was.
func what(c ruled.Change) string {
	if c.Problem != "" {
		return "doesn't count: " + c.Problem
	}
	text := "decides"
	if c.Again {
		text = "decides again"
	}
	if c.By != nil {
		text += ", first for " + c.By.ID
	}
	if !c.Kept {
		text += "; its text isn't kept"
	}
	return text
}
