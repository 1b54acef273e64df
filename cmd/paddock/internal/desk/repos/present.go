package repos

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/clean"
	"paddock/internal/git"
	"paddock/internal/git/query"
)

func (d commands) status() *cobra.Command {
	var q query.Status
	cmd := &cobra.Command{
		Use:   "status [PATH]",
		Short: "Show what differs between HEAD, the index and the working tree",
		Args:  desk.Wants(0, 1, "at most one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.In = first(args)
			return d.ask(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVar(&q.Untracked, "untracked", "normal", "untracked files: `HOW` is "+strings.Join(query.Untracked, ", "))
	fixed(cmd, "untracked", query.Untracked)
	return cmd
}

func (d commands) grep() *cobra.Command {
	var q query.Grep
	var around int
	cmd := &cobra.Command{
		Use:   "grep PATTERN [REVISION] [-- PATH]",
		Short: "Search in the files of a revision or of the working tree",
		Long: `Show lines that match, in the files of a revision or, without one, in the tracked
files of the working tree. The pattern is a POSIX extended regular expression.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			typed, path, err := words(cmd, args, 1, 2, "a pattern and at most one revision")
			if err != nil {
				return err
			}
			q.Pattern, q.In = typed[0], path
			if len(typed) == 2 {
				q.Ref = typed[1]
			}
			if cmd.Flags().Changed("context") {
				q.Before, q.After = around, around
			}
			return d.ask(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.Fixed, "fixed", false, "take the pattern as it is")
	f.BoolVar(&q.IgnoreCase, "ignore-case", false, "take upper and lower case for the same")
	f.BoolVar(&q.Word, "word", false, "find whole words")
	f.BoolVar(&q.Count, "count", false, "which files and how many lines")
	f.IntVar(&q.Before, "before", 0, "`N` lines before each match, too")
	f.IntVar(&q.After, "after", 0, "`N` lines after each match, too")
	f.IntVar(&around, "context", 0, "`N` lines around each match, too")
	return cmd
}

func (d commands) branches() *cobra.Command {
	var q query.Branches
	cmd := &cobra.Command{
		Use:   "branches",
		Short: "List branches and tags, newest first",
		Args:  desk.Wants(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := given(cmd, "count", q.Count); err != nil {
				return err
			}
			return d.ask(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Kind, "kind", "", "`KIND`: "+strings.Join(query.Kinds, ", ")+" (default branches and tags)")
	f.IntVar(&q.Count, "count", 0, "at most `N` of them (default 100)")
	fixed(cmd, "kind", query.Kinds)
	return cmd
}

func (d commands) cat() *cobra.Command {
	var q query.Cat
	cmd := &cobra.Command{
		Use:   "cat [--revision REVISION] PATH",
		Short: "Show what a file holds at a revision",
		Args:  desk.Wants(1, 1, "one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.In = args[0]
			if q.Limit = paddock.MaxPage; cmd.Flags().Changed("limit") {
				q.Limit, _ = cmd.Flags().GetInt("limit")
			}
			for _, name := range []string{"limit", "line", "lines"} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "0" {
					return given(cmd, name, 0)
				}
			}
			return d.ask(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Ref, "revision", "", "as of `REVISION` (default HEAD)")
	f.Int64Var(&q.Offset, "offset", 0, "begin at byte `N`")
	f.Int64Var(&q.Line, "line", 0, "begin at line `N`")
	f.Int64Var(&q.Lines, "lines", 0, "at most `N` lines")
	f.Int("limit", 0, "at most `N` characters (default 200000)")
	f.BoolVar(&q.Raw, "raw", false, "the bytes as they are, also of what isn't text")
	return cmd
}

func fixed(cmd *cobra.Command, name string, words []string) {
	if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is declared above
	}
}

// present shows what there is, as far as an answer tells of it.
func present(b *strings.Builder, q query.Query, a git.Answer) error {
	if a.Tool == "status" {
		branch(b, a)
	}
	for _, c := range a.Changes {
		name := desk.Plain(c.Path)
		if c.From != "" {
			name = desk.Plain(c.From) + " => " + name
		}
		switch c.Kind {
		case "untracked":
			fmt.Fprintf(b, "??  %s\n", name)
		case "conflict":
			fmt.Fprintf(b, "%s  %s (conflict)\n", c.Conflict, name)
		default:
			fmt.Fprintf(b, "%1s%1s  %s\n", c.Staged, c.Unstaged, name)
		}
	}
	for _, m := range a.Matches {
		mark := ":"
		if m.Context {
			mark = "-"
		}
		fmt.Fprintf(b, "%s%s%d%s%s\n", desk.Plain(m.Path), mark, m.Number, mark, desk.Plain(strings.ReplaceAll(m.Text, "\t", "    ")))
	}
	for _, c := range a.Counts {
		fmt.Fprintf(b, "%6d  %s\n", c.Lines, desk.Plain(c.Path))
	}
	for _, r := range a.Refs {
		mark, id := " ", r.ID
		if r.Current {
			mark = "*"
		}
		if r.Commit != "" {
			id = r.Commit
		}
		fmt.Fprintf(b, "%s %-6s  %.12s  %s  %s  %s\n", mark, r.Kind, id, day(r.Date), desk.Plain(r.Name), desk.Plain(r.Subject))
	}
	if a.Content == nil {
		return nil
	}
	return content(b, q, a.Content)
}

func branch(b *strings.Builder, a git.Answer) {
	switch {
	case a.Detached:
		fmt.Fprintf(b, "detached at %.12s\n", a.Head)
	case a.Branch != "":
		fmt.Fprintf(b, "on %s\n", desk.Plain(a.Branch))
	}
	if u := a.Upstream; u != nil && u.Ahead != nil {
		fmt.Fprintf(b, "follows %s (ahead %d, behind %d)\n", desk.Plain(u.Ref), *u.Ahead, *u.Behind)
	} else if u != nil {
		fmt.Fprintf(b, "follows %s\n", desk.Plain(u.Ref))
	}
}

// content shows text, cleaned of what terminals obey unless bytes are asked for.
func content(b *strings.Builder, q query.Query, c *git.Content) error {
	text := []byte(c.Text)
	if c.Encoding == "base64" {
		var err error
		if text, err = base64.StdEncoding.DecodeString(c.Text); err != nil {
			return err
		}
	}
	if cat, ok := q.(query.Cat); !ok || !cat.Raw {
		text = clean.Bytes(text, clean.Text)
	}
	b.Write(text)
	return nil
}
