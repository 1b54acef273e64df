// Package repos has the commands that read repositories: the git tools, for
// people.
//
// # Limits
//
// They make questions and print answers. Which repository may be read, and by
// which program, is the policy's.
package repos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/clean"
	"paddock/internal/git"
	"paddock/internal/git/parse"
	"paddock/internal/git/query"
)

// commands are the commands at a desk.
type commands struct {
	*desk.Desk
	root *string
}

// Command returns the command git.
func Command(at *desk.Desk) *cobra.Command {
	var root string
	d := commands{at, &root}
	cmd := at.Group(&cobra.Command{
		Use:   "git",
		Short: "Read repositories that aren't trusted",
		Long: `Ask git about a repository that the policy's git section names. Revisions, paths,
dates and numbers are values: nothing that is typed here becomes a flag of git.
Nothing that the repository says is run, and nothing in it is changed.`,
		Example: `  paddock git log --count 5 -- src
  paddock git diff main~3 main
  paddock git blame --lines 10,20 README.md
  paddock git grep 'func \w+\(' main -- src
  paddock git cat --revision v1.0 README.md`,
	})
	cmd.PersistentFlags().StringVar(&root, "root", "", "`DIR` of the repository, as the policy's git roots have it (default the first)")
	cmd.AddCommand(d.log(), d.show(), d.diff(), d.blame(), d.mergeBase(), d.listFiles(), d.status(), d.grep(), d.branches(), d.cat())
	return cmd
}

// ask prints the answer to a question.
func (d commands) ask(ctx context.Context, q query.Query) error {
	return d.With(ctx, func(v desk.Verbs) error {
		a, err := v.Git(ctx, git.Ask{Principal: d.Operator(), Door: paddock.DoorCLI, Tied: true, Root: *d.root, Query: q})
		if err != nil {
			return err
		}
		if d.JSON {
			err = d.Object(a)
		} else {
			err = d.print(ctx, v, q, a)
		}
		if err == nil && a.Run != "" && !a.OK && a.ExitCode != nil {
			return desk.ExitStatus(*a.ExitCode)
		}
		return err
	})
}

// print shows an answer to a person.
func (d commands) print(ctx context.Context, v desk.Verbs, q query.Query, a git.Answer) error {
	var b strings.Builder
	for _, c := range a.Commits {
		if a.Tool == "log" && !strings.Contains(c.Message, "\n") && c.Files == nil {
			fmt.Fprintf(&b, "%.12s  %s  %s  %s\n", c.ID, day(c.Author.Date), desk.Plain(c.Author.Name), desk.Plain(c.Message))
			continue
		}
		fmt.Fprintf(&b, "commit %s\nAuthor: %s <%s>\nDate:   %s\n\n", c.ID, desk.Plain(c.Author.Name), desk.Plain(c.Author.Email), desk.Plain(c.Author.Date))
		for line := range strings.Lines(c.Message) {
			fmt.Fprintf(&b, "    %s\n", desk.Plain(strings.TrimSuffix(line, "\n")))
		}
		b.WriteString("\n")
		files(&b, c.Files)
	}
	files(&b, a.Files)
	for _, l := range a.Lines {
		fmt.Fprintf(&b, "%.12s %6d  %-16.16s  %s\n", l.Commit, l.Number, desk.Plain(l.Author), desk.Plain(strings.ReplaceAll(l.Text, "\t", "    ")))
	}
	for _, e := range a.Entries {
		fmt.Fprintln(&b, desk.Plain(e.Path))
	}
	if a.Base != "" {
		fmt.Fprintln(&b, a.Base)
	}
	if err := present(&b, q, a); err != nil {
		return err
	}
	if _, err := io.WriteString(d.Out, b.String()); err != nil {
		return err
	}
	if a.Tool == "show" || a.Tool == "diff" {
		p := patch{w: d.Out}
		if err := v.Follow(ctx, d.Operator(), a.Run, paddock.Stdout, 0, &p); err != nil && a.Run != "" {
			return err
		}
	}
	for _, note := range a.Notes {
		d.Say("note", note)
	}
	if !a.OK && a.Stderr != "" {
		d.Say("git", desk.Plain(strings.TrimSpace(a.Stderr)))
	}
	if c := a.Content; c != nil && c.Encoding != "" && !c.EOF {
		d.Say("note", fmt.Sprintf("there is more: --offset %d", c.Next))
	}
	if a.Next > 0 {
		d.Say("note", fmt.Sprintf("there may be more: --skip %d", a.Next))
	}
	return nil
}

func day(date string) string { return desk.Plain(date[:min(len(date), 10)]) }

func files(b *strings.Builder, all []parse.File) {
	for _, f := range all {
		name := desk.Plain(f.Path)
		if f.From != "" {
			name = desk.Plain(f.From) + " => " + name
		}
		switch {
		case f.Binary:
			fmt.Fprintf(b, "%s  %s (binary)\n", f.Status, name)
		case f.Added != nil:
			fmt.Fprintf(b, "%s  %s (+%d -%d)\n", f.Status, name, *f.Added, *f.Deleted)
		default:
			fmt.Fprintf(b, "%s  %s\n", f.Status, name)
		}
	}
	if len(all) > 0 {
		b.WriteString("\n")
	}
}

// A patch writes what comes after the list of files, cleaned of what terminals
// obey: this is for reading, and output RUN --raw has the bytes.
type patch struct {
	w     io.Writer
	begun bool
	held  []byte
}

var patchBegins = []byte("\x00diff --")

func (p *patch) Write(text []byte) (int, error) {
	n := len(text)
	p.held = append(p.held, text...)
	if !p.begun {
		at := bytes.Index(p.held, patchBegins)
		if at < 0 {
			p.held = p.held[max(0, len(p.held)-len(patchBegins)):]
			return n, nil
		}
		p.begun, p.held = true, p.held[at+1:]
	}
	end := bytes.LastIndexByte(p.held, '\n') + 1
	whole := p.held[:end]
	p.held = bytes.Clone(p.held[end:])
	_, err := p.w.Write(clean.Bytes(whole, clean.Text))
	return n, err
}
