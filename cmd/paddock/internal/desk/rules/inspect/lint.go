package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy"
	"paddock/internal/review/lint"
	"paddock/internal/trust"
)

// A lintReport is what policy lint found.
type lintReport struct {
	File   string         `json:"file"`
	Digest paddock.Digest `json:"digest"`
	// Clean is set when every finding is accepted.
	Clean    bool           `json:"clean"`
	Findings []lint.Finding `json:"findings"`
}

func (d commands) lintCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "lint [flags] [FILE]",
		Short: "Find what a policy lets through without saying so",
		Long: `Read a policy, by default the one that applies here, for ways out of tools, argument
rules that never decide, executables that others could replace, roots that hold more
than a project, and limits that aren't there. Each finding has an id that stays, a
place, a command that shows it where there is one, and what to do.

A finding that is as it should be is accepted in the policy, with the reason:

  accept:
    - {id: L004, at: executables.python3, reason: the agent works on these scripts}

The exit status is 0 when nothing is left to look at, 1 when something is, 125 when
the policy has errors, and 126 when no FILE is named and no policy applies here.`,
		Example: "  paddock policy lint\n  paddock policy lint --json policy.yaml",
		Args:    desk.Wants(0, 1, "at most one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, data, err := d.files.Policy(args)
			if err != nil {
				return err
			}
			return d.lint(path, data, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show what the policy accepts, too")
	return cmd
}

func (d commands) lint(path string, data []byte, all bool) error {
	more := d.Lineage.More(path, data)
	compiled, err := policy.Load(path, data, more...)
	if err != nil {
		return broken(path, err, "nothing was looked over")
	}
	found, err := lint.Lint(path, data, d.facts(path, compiled), more...)
	if err != nil {
		return err
	}
	open := lint.Open(found)
	r := lintReport{File: path, Digest: compiled.Digest(), Clean: len(open) == 0, Findings: append([]lint.Finding{}, found...)}
	if err := d.showLint(r, all, len(open)); err != nil || r.Clean {
		return err
	}
	return desk.ExitStatus(desk.ExitNo)
}

// facts looks at the files that the policy names.
func (d commands) facts(path string, p *policy.Policy) lint.Facts {
	f := lint.Facts{File: d.files.Real(path), Home: d.Getenv("HOME"), Real: map[string]string{}, Programs: map[string]lint.Program{}}
	for _, dir := range slices.Concat(p.Roots(), p.Contain().Write) {
		f.Real[dir] = d.files.Real(dir)
	}
	programs := p.Executables()
	if agents := p.Delegates(); agents != nil {
		programs = append(programs, agents.File.Paths()...)
	}
	for _, file := range programs {
		known := lint.Program{Root: d.files.RootOwns(file)}
		switch opened, _, err := trust.User().Open(file); {
		case errors.Is(err, fs.ErrNotExist):
			known.Problem = file + " doesn't exist"
		case err != nil:
			known.Problem = err.Error()
		default:
			opened.Close()
		}
		f.Programs[file] = known
	}
	return f
}

func (d commands) showLint(r lintReport, all bool, open int) error {
	if d.JSON {
		return d.Object(r)
	}
	for _, f := range r.Findings {
		if f.Accepted != "" && !all {
			continue
		}
		next := "fix: " + f.Fix
		if f.Accepted != "" {
			next = "accepted: " + f.Accepted
		}
		if _, err := fmt.Fprintf(d.Out, "%s: %s at %s: %s\n    %s\n", desk.Place(&f.Position), f.ID, desk.Plain(f.At), desk.Plain(f.Message), desk.Plain(next)); err != nil {
			return err
		}
	}
	accepted := ""
	if n := len(r.Findings) - open; n > 0 {
		accepted = fmt.Sprintf(", %d accepted", n)
	}
	d.Say("note", fmt.Sprintf("%d findings%s", open, accepted))
	if open > 0 {
		d.Say("hint", "docs/lint.md says why each matters; what is as it should be goes under `accept` with its reason")
	}
	return nil
}
