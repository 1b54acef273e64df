// Package trees has the commands about worktrees, of a repository here or of a workspace of
// a server.
//
// # Limits
//
// What is removed here is what lies in a directory that the operator names; no policy is
// asked about that. Tidying asks git by runs, which one is asked about.
package trees

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app"
	"paddock/internal/client"
	"paddock/internal/client/trees"
	"paddock/internal/workspace/apply/tree/place/worktree"
)

type commands struct{ *desk.Desk }

// Command is paddock worktree.
func Command(of *desk.Desk) *cobra.Command {
	d := commands{of}
	cmd := d.Group(&cobra.Command{
		Use:   "worktree",
		Short: "List, remove and tidy worktrees that runs were given",
		Long: `A worktree is a clone in a directory of the repository that it is of; paddock run
--worktree makes one. It stays until somebody removes it. Tidying removes those that were
made for a run (wt-…) an hour ago or more, in which nothing is at work, and that have no
changes that aren't committed and no commits of their own; others stay, and are told.

Here a workspace is the directory of a repository, the current one if none is named; with
--server it is a name there.`,
		Example: `  paddock worktree list
  paddock worktree tidy
  paddock worktree remove wt-3f2a
  paddock --server URL worktree tidy site`,
	})
	cmd.AddCommand(d.list(), d.remove(), d.tidy())
	return cmd
}

// on asks f of the server, or here of the repository in the directory that is named.
func (d commands) on(ctx context.Context, name string, far func(c *client.Client) error, here func(v desk.Verbs, at worktree.Place, dir string) error) error {
	if at := d.ServerURL(); at != "" {
		if name == "" {
			return desk.Usage("which workspace of the server?", "as in paddock worktree list site")
		}
		token, err := d.Token()
		if err != nil {
			return err
		}
		c, err := client.New(at, token)
		if err != nil {
			return err
		}
		return errors.Join(far(c), c.Close())
	}
	if name == "" {
		name = "."
	}
	dir, err := filepath.EvalSymlinks(d.Absolute(name))
	if err != nil {
		return desk.Usage(desk.Plain(err.Error()), "name the directory of the repository")
	}
	return d.With(ctx, func(v desk.Verbs) error { return here(v, worktree.Place{Root: dir, In: "."}, dir) })
}

// work looks which runs are at work in or around the worktrees of dir.
func (d commands) work(v desk.Verbs, dir string) worktree.Work {
	within := func(p, dir string) bool { return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") }
	return func(ctx context.Context) (func(string) paddock.RunID, error) {
		var all []paddock.Run
		for f := (app.Filter{Active: true, Limit: 1000}); ; {
			page, err := v.List(ctx, d.Operator(), f)
			if err != nil {
				return nil, err
			}
			all = append(all, page.Runs...)
			if f.Before = page.Next; page.Next == "" {
				break
			}
		}
		return func(tree string) paddock.RunID {
			for _, r := range all {
				if r.Workspace == "" && within(r.Dir, dir) || r.Workspace != "" && (within(r.Workspace, tree) || within(dir, r.Workspace)) {
					return r.ID
				}
			}
			return ""
		}, nil
	}
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func (d commands) list() *cobra.Command {
	return &cobra.Command{
		Use:   "list [WORKSPACE]",
		Short: "List worktrees, by name",
		Args:  desk.Wants(0, 1, "at most one workspace"),
		RunE: func(cmd *cobra.Command, words []string) (err error) {
			var l worktree.Listing
			err = d.on(cmd.Context(), first(words), func(c *client.Client) error {
				l, err = trees.List(cmd.Context(), c, words[0])
				return err
			}, func(v desk.Verbs, at worktree.Place, dir string) error {
				l, err = worktree.List(cmd.Context(), at, strings.TrimSuffix(dir, "/")+"/", d.work(v, dir))
				return err
			})
			if err != nil || d.JSON {
				return d.answer(err, l)
			}
			rows := [][]string{{"NAME", "MADE", "FOR A RUN", "AT WORK"}}
			for _, t := range l.Trees {
				rows = append(rows, []string{t.Name, t.Made.Format(time.RFC3339), map[bool]string{true: "yes", false: "no"}[t.ForRun], string(t.Run)})
			}
			return d.table(rows)
		},
	}
}

// answer prints v as JSON, unless there was an error, which it returns.
func (d commands) answer(err error, v any) error {
	if err != nil {
		return err
	}
	return d.Object(v)
}

func (d commands) table(rows [][]string) error {
	w := tabwriter.NewWriter(d.Out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = desk.Plain(row[i])
		}
		if _, err := w.Write([]byte(strings.TrimRight(strings.Join(row, "\t"), "\t") + "\n")); err != nil {
			return err
		}
	}
	return w.Flush()
}

func (d commands) remove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove WORKTREE",
		Short: "Remove a worktree with all that is in it, unless something runs there",
		Args:  desk.Wants(1, 1, "one worktree, as paddock worktree list calls it"),
		RunE: func(cmd *cobra.Command, words []string) error {
			name := strings.TrimRight(words[0], "/")
			workspace, into := filepath.Split(name)
			if err := worktree.Directory(into); err != nil {
				return err
			}
			workspace = filepath.Clean(workspace)
			if workspace == "." && d.ServerURL() != "" {
				workspace = ""
			}
			return d.on(cmd.Context(), workspace, func(c *client.Client) error {
				return trees.Remove(cmd.Context(), c, workspace, into)
			}, func(v desk.Verbs, at worktree.Place, dir string) error {
				l, err := worktree.List(cmd.Context(), at, "", d.work(v, dir))
				if err != nil {
					return err
				}
				for _, t := range l.Trees {
					switch {
					case t.Name == into && t.Run != "":
						r := paddock.Refused(paddock.Conflict, "Run %s is at work there.", t.Run)
						r.Hint = "End it first."
						return r
					case t.Name == into:
						return worktree.Remove(cmd.Context(), at, into)
					}
				}
				return paddock.Refused(paddock.NotFound, "There is no worktree %s in %s: no directory with a repository of its own.", into, dir)
			})
		},
	}
}

func (d commands) tidy() *cobra.Command {
	var choice worktree.Choice
	cmd := &cobra.Command{
		Use:   "tidy [WORKSPACE]",
		Short: "Remove worktrees of runs that are over, if nothing would be lost",
		Args:  desk.Wants(0, 1, "at most one workspace"),
		RunE: func(cmd *cobra.Command, words []string) (err error) {
			var t worktree.Tidied
			err = d.on(cmd.Context(), first(words), func(c *client.Client) error {
				t, err = trees.Tidy(cmd.Context(), c, words[0], choice)
				return err
			}, func(v desk.Verbs, at worktree.Place, dir string) error {
				like := paddock.Request{Principal: d.Operator(), Door: paddock.DoorCLI, Command: paddock.Command{Label: "tidying " + filepath.Base(dir)}}
				t, err = worktree.Tidy(cmd.Context(), v, like, at, strings.TrimSuffix(dir, "/")+"/", d.work(v, dir), choice, d.Now, func(string) error { return nil })
				return err
			})
			if err != nil || d.JSON {
				return d.answer(err, t)
			}
			var rows [][]string
			for _, name := range t.Removed {
				rows = append(rows, []string{name, "removed"})
			}
			for _, l := range t.Left {
				rows = append(rows, []string{l.Name, strings.TrimSpace("stays: " + l.Why + " " + l.Next)})
			}
			if t.More {
				d.Say("more", "there was no time for all of them: say it again")
			}
			return d.table(rows)
		},
	}
	cmd.Flags().BoolVar(&choice.Changed, "changed", false, "remove them, too, that have changes or commits of their own")
	return cmd
}
