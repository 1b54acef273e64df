package repos

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/git/query"
)

// words splits what was typed into the words before -- and the path behind it.
func words(cmd *cobra.Command, args []string, least, most int, what string) (refs []string, path string, err error) {
	refs = args
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		refs = args[:at]
		if behind := args[at:]; len(behind) != 1 {
			return nil, "", desk.Usage("behind -- stands one path", "as in paddock git log main -- src")
		}
		path = args[at]
	}
	return refs, path, desk.Wants(least, most, what)(cmd, refs)
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// given refuses a number that is zero because it was typed so: left out is what
// means the usual.
func given(cmd *cobra.Command, name string, n int) error {
	if cmd.Flags().Changed(name) && n == 0 {
		return desk.Usage("--"+name+" is 0", "it is counted from 1")
	}
	return nil
}

func (d commands) log() *cobra.Command {
	var q query.Log
	cmd := &cobra.Command{
		Use:   "log [REVISION] [-- PATH]",
		Short: "List commits, newest first",
		RunE: func(cmd *cobra.Command, args []string) error {
			refs, path, err := words(cmd, args, 0, 1, "at most one revision")
			if err == nil {
				err = given(cmd, "count", q.Count)
			}
			if err != nil {
				return err
			}
			q.Ref, q.In = first(refs), path
			return d.ask(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.IntVar(&q.Count, "count", 0, "at most `N` commits (default 20)")
	f.IntVar(&q.Skip, "skip", 0, "leave out `N` commits before")
	f.StringVar(&q.Since, "since", "", "only since a `DATE` as 2026-05-01, or an age as \"3 days ago\"")
	f.StringVar(&q.Until, "until", "", "only until a `DATE` or age")
	f.StringVar(&q.Author, "author", "", "only by authors with `TEXT` in \"Name <address>\"")
	f.StringVar(&q.Format, "format", "oneline", "`FORM`: "+strings.Join(query.Formats, ", "))
	if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(query.Formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

func (d commands) show() *cobra.Command {
	var q query.Show
	cmd := &cobra.Command{
		Use:   "show [REVISION] [-- PATH]",
		Short: "Show one commit and what it changes",
		RunE: func(cmd *cobra.Command, args []string) error {
			refs, path, err := words(cmd, args, 0, 1, "at most one revision")
			if err != nil {
				return err
			}
			q.Ref, q.In = first(refs), path
			return d.ask(cmd.Context(), q)
		},
	}
	cmd.Flags().BoolVar(&q.NameOnly, "name-only", false, "which files, not what changes in them")
	return cmd
}

func (d commands) diff() *cobra.Command {
	var q query.Diff
	var around int
	cmd := &cobra.Command{
		Use:   "diff [BASE [HEAD]] [-- PATH]",
		Short: "Show what differs",
		Long: `Show what differs: between two revisions, between one and the working tree, or,
with none, between the index and the working tree. Untracked files aren't shown.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			refs, path, err := words(cmd, args, 0, 2, "at most two revisions")
			if err != nil {
				return err
			}
			q.Base, q.In = first(refs), path
			if len(refs) == 2 {
				q.Head = refs[1]
			}
			if cmd.Flags().Changed("unified") {
				q.Unified = &around
			}
			return d.ask(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.NameOnly, "name-only", false, "which files, not what changes in them")
	f.BoolVar(&q.Stat, "stat", false, "which files and how many lines")
	f.IntVar(&around, "unified", 3, "`N` lines around each change")
	return cmd
}

func (d commands) blame() *cobra.Command {
	var q query.Blame
	var lines string
	cmd := &cobra.Command{
		Use:   "blame [--revision REVISION] PATH",
		Short: "Show which commit each line of a file is from",
		Args:  desk.Wants(1, 1, "one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.In = args[0]
			if lines != "" {
				from, to, _ := strings.Cut(lines, ",")
				var err1, err2 error
				q.Start, err1 = strconv.Atoi(from)
				if to != "" {
					q.End, err2 = strconv.Atoi(to)
				}
				if err1 != nil || err2 != nil || q.Start < 1 {
					return desk.Usage("--lines is "+desk.Quote(lines), "as in --lines 10,20")
				}
			}
			return d.ask(cmd.Context(), q)
		},
	}
	cmd.Flags().StringVar(&q.Ref, "revision", "", "as of `REVISION` (default HEAD)")
	cmd.Flags().StringVar(&lines, "lines", "", "lines `FROM,TO` (default 1,100)")
	return cmd
}

func (d commands) mergeBase() *cobra.Command {
	return &cobra.Command{
		Use:   "merge-base BASE HEAD",
		Short: "Show the best common ancestor of two revisions",
		Args:  desk.Wants(2, 2, "two revisions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.ask(cmd.Context(), query.MergeBase{Base: args[0], Head: args[1]})
		},
	}
}

func (d commands) listFiles() *cobra.Command {
	return &cobra.Command{
		Use:   "ls-files [PATH]",
		Short: "List the files that git tracks",
		Args:  desk.Wants(0, 1, "at most one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.ask(cmd.Context(), query.ListFiles{In: first(args)})
		},
	}
}
