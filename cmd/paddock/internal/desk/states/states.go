// Package states has the commands about the state directory as a whole.
//
// # Limits
//
// What is wrong, and what can be mended, is said by the verbs and nowhere here.
package states

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/app/evidence/census"
	"paddock/internal/app/evidence/census/finding"
)

// commands are the commands at a desk.
type commands struct{ *desk.Desk }

// Command returns state, with those below it.
func Command(at *desk.Desk, s Server) *cobra.Command {
	d := commands{at}
	cmd := d.Group(&cobra.Command{
		Use:   "state",
		Short: "Check, reconcile, back up and restore the state directory",
		Long: `The state directory has a directory for each run, which is the truth about it, and
an index by which runs are found. Deleting the index loses nothing: state rebuild
makes it again.`,
	})
	cmd.AddCommand(d.checkCommand(), d.rebuildCommand(), d.backupCommand(s), d.restoreCommand(s), d.reconcileCommand(s))
	return cmd
}

// with opens the state directory and closes it again.
func (d commands) with(f func(c *census.Census) error) error {
	state := d.StateDir(d.State)
	if state == "" {
		return desk.Usage("there is no place where runs could be", "set HOME, or name a directory with --state")
	}
	e, err := evidence.Open(d.Operator(), state, d.Now)
	if err != nil {
		return err
	}
	return errors.Join(f(census.Of(e)), e.Close())
}

func (d commands) checkCommand() *cobra.Command {
	var opt census.Options
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Tell of everything in the state directory that doesn't fit",
		Long: `Look at every run's record, at what leads to runs, at what the journal tells of
them, and at what crashes have left. Nothing is changed, and others may use the
directory meanwhile. Links, pipes and devices in the place of files are told of
and neither followed nor opened.

The exit status is 0 when everything fits, and 1 otherwise.`,
		Example: `  paddock state check
  paddock state check --digests --json`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for i, dir := range opt.Archive {
				opt.Archive[i] = d.Absolute(dir)
			}
			return d.with(func(c *census.Census) error { return d.check(cmd, c, opt) })
		},
	}
	cmd.Flags().BoolVar(&opt.Digests, "digests", false, "read all kept output and compare its digests")
	cmd.Flags().StringArrayVar(&opt.Archive, "archive", nil, "`DIR` to which older segments of the journal were moved")
	return cmd
}

func (d commands) check(cmd *cobra.Command, c *census.Census, opt census.Options) error {
	all := struct {
		census.Report
		Whole bool             `json:"whole"`
		Found []census.Finding `json:"found"`
	}{Found: []census.Finding{}}
	rebuild := false
	report, err := c.Check(cmd.Context(), opt, func(f census.Finding) error {
		rebuild = rebuild || f.Mend == finding.ByRebuild
		if d.JSON {
			all.Found = append(all.Found, f)
			return nil
		}
		_, err := fmt.Fprintln(d.Out, line(f))
		return err
	})
	if err != nil {
		return err
	}
	all.Report, all.Whole = report, report.Findings == 0
	switch {
	case d.JSON:
		err = d.Object(all)
	case all.Whole:
		err = d.Fields([][2]string{
			{"runs", fmt.Sprintf("%d, of which %d go on; all records can be read", report.Runs, report.Open)},
			{"index", "leads to all of them, and nowhere else"},
			{"journal", fmt.Sprintf("%d entries, which tell of the same runs", report.Entries)},
			{"output", map[bool]string{true: "as recorded, by size and digest", false: "as recorded, by size; --digests reads it"}[report.Digests]},
		})
	}
	if report.ReadOnly != "" {
		d.Say("note", report.ReadOnly)
	}
	if rebuild {
		d.Say("note", "paddock state rebuild makes again what belongs to the index")
	}
	if err == nil && !all.Whole {
		err = desk.ExitStatus(desk.ExitNo)
	}
	return err
}

// line tells of a finding in one line.
func line(f census.Finding) string {
	words := []string{fmt.Sprintf("%-9s", string(f.Kind))}
	if f.Path != "" {
		words = append(words, desk.Plain(f.Path)+":")
	} else if f.Run != "" {
		words = append(words, "run "+string(f.Run)+":")
	}
	words = append(words, desk.Plain(f.Detail))
	switch f.Mend {
	case finding.ByRebuild:
		words = append(words, "(state rebuild mends it)")
	case finding.ByUse:
		words = append(words, "(the next use mends it)")
	}
	return strings.Join(words, " ")
}

func (d commands) rebuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rebuild",
		Short: "Make the index again from the directories of the runs",
		Long: `Make again what leads to runs: entries of runs that go on, of ends that their owners
haven't read, of idempotency keys, and the marks of lines. What is right stays as
it is; entries that lead nowhere are taken away. Then runs that nobody looks after
are settled, and what crashes have left is taken away, as with every use.

Others may use the directory meanwhile. The exit status is 1 when something
couldn't be mended; state check says more.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := struct {
				census.Rebuilt
				Changed []census.Change `json:"changed"`
			}{Changed: []census.Change{}}
			err := d.with(func(c *census.Census) (err error) {
				all.Rebuilt, err = c.Rebuild(cmd.Context(), func(ch census.Change) error {
					if d.JSON {
						all.Changed = append(all.Changed, ch)
						return nil
					}
					_, err := fmt.Fprintln(d.Out, change(ch))
					return err
				})
				return err
			})
			if err == nil { // opening the house does what every use does
				err = d.With(cmd.Context(), func(desk.Verbs) error { return nil })
			}
			if err != nil {
				return err
			}
			if d.JSON {
				err = d.Object(all)
			} else {
				d.Say("note", fmt.Sprintf("%d runs were looked at, %d things made again or taken away", all.Runs, all.Changes))
			}
			if err == nil && all.Faults > 0 {
				err = desk.ExitStatus(desk.ExitNo)
			}
			return err
		},
	}
}

func change(ch census.Change) string {
	switch {
	case ch.Fault != "":
		return "fault     " + desk.Plain(ch.Path+": "+ch.Fault)
	case ch.Removed:
		return "removed   " + desk.Plain(ch.Path)
	}
	return "made      " + desk.Plain(ch.Path)
}
