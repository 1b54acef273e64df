package audits

import (
	"fmt"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/journal/audit"
)

func (d commands) headCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "head",
		Short: "Print a line to keep elsewhere, by which all before it is known",
		Long: `Verify the journal and print its head: the journal's id, the number of its newest
entry and that entry's digest. Kept where nobody can change it, this line proves
everything up to there: paddock audit verify --head LINE.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(func(e *evidence.Evidence) error {
				head, err := e.Head(cmd.Context())
				if err != nil {
					return err
				}
				if d.JSON {
					return d.Object(head)
				}
				_, err = fmt.Fprintln(d.Out, head)
				return err
			})
		},
	}
}

func (d commands) verifyCommand() *cobra.Command {
	var a against
	var partial bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Find every entry that was changed, dropped, moved or added",
		Long: `Check every line of the journal against its digest and each against the one before,
the checkpoints in it and the newest one against the tree of entries, and what was
saved elsewhere against what is here. Each fault is told with its segment and line.

The exit status is 0 when nothing is wrong or missing, and 1 otherwise.`,
		Example: `  paddock audit verify
  paddock audit verify --head "$(ssh vault cat paddock.head)"
  paddock audit verify --head saved-checkpoint --key paddock.pub`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := d.read(a)
			if err != nil {
				return err
			}
			return d.with(func(e *evidence.Evidence) error {
				report, err := e.Verify(cmd.Context(), all)
				if err != nil {
					return err
				}
				whole := report.Whole() && (partial || len(report.Missing) == 0)
				if err := d.report(report, whole); err != nil {
					return err
				}
				return answer(whole)
			})
		},
	}
	cmd.Flags().StringArrayVar(&a.heads, "head", nil, "what was `SAVED` elsewhere: a line of audit head, a file of such lines, or of a checkpoint")
	cmd.Flags().BoolVar(&partial, "partial", false, "segments that aren't here are no fault")
	a.flags(cmd)
	return cmd
}

func (d commands) report(r *audit.Report, whole bool) error {
	if d.JSON {
		return d.Object(struct {
			*audit.Report
			Whole bool `json:"whole"`
		}{r, whole})
	}
	for _, f := range r.Faults {
		if _, err := fmt.Fprintln(d.Out, desk.Plain(f.String())); err != nil {
			return err
		}
	}
	if r.More > 0 {
		if _, err := fmt.Fprintf(d.Out, "and %d more faults\n", r.More); err != nil {
			return err
		}
	}
	for _, gap := range r.Missing {
		d.Say("missing", gap.String()+"; --archive names where they are")
	}
	if r.Unsigned > 0 {
		d.Say("note", fmt.Sprintf("%d checkpoints weren't checked: --key names the public key", r.Unsigned))
	}
	if !whole {
		return nil
	}
	return d.Fields([][2]string{
		{"journal", desk.Plain(r.Journal)},
		{"entries", fmt.Sprintf("%d in %d segments, all whole and in order", r.Entries, r.Segments)},
		{"checkpoints", fmt.Sprintf("%d fit", r.Checkpoints)},
		{"saved", fmt.Sprintf("%d heads and checkpoints fit", r.Saved)},
		{"recovered", fmt.Sprintf("%d lines that a crash tore", r.Recovered)},
		{"open", fmt.Sprintf("%d runs have a start and no end", r.Open)},
		{"head", desk.Plain(r.Head.String())},
	})
}

func (d commands) runCommand() *cobra.Command {
	var a against
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Compare a run's record and output with the journal",
		Long: `Read a run's kept output again and compare it with the digests in its record, and
the record with what the journal tells of the run, after verifying the journal.

The exit status is 0 when all of it agrees, 1 when something doesn't, and 75 when
it does so far but the run goes on.`,
		Args:              desk.Wants(1, 1, "one run"),
		ValidArgsFunction: d.CompleteRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := desk.RunID(args[0])
			if err != nil {
				return err
			}
			all, err := d.read(a)
			if err != nil {
				return err
			}
			// Opening the house settles what nobody looks after, and has it told.
			err = d.With(cmd.Context(), func(v desk.Verbs) error {
				_, err := v.Detail(cmd.Context(), d.Operator(), id)
				return err
			})
			if err != nil && desk.StatusOf(err) == desk.ExitRefused {
				return err // what can't be read is a finding
			}
			return d.with(func(e *evidence.Evidence) error {
				report, err := e.VerifyRun(cmd.Context(), id, all)
				if err != nil {
					return err
				}
				return d.checks(report)
			})
		},
	}
	a.flags(cmd)
	return cmd
}

func (d commands) checks(r *evidence.RunReport) error {
	if d.JSON {
		err := d.Object(struct {
			*evidence.RunReport
			Whole bool `json:"whole"`
		}{r, r.Whole()})
		if err != nil {
			return err
		}
	} else {
		for _, c := range r.Checks {
			verdict := "ok"
			if !c.OK {
				verdict = "WRONG"
			}
			if _, err := fmt.Fprintf(d.Out, "%-5s  %-15s  %s\n", verdict, c.What, desk.Plain(c.Detail)); err != nil {
				return err
			}
		}
	}
	switch {
	case !r.Whole():
		return desk.ExitStatus(desk.ExitNo)
	case !r.Settled:
		d.Say("note", "the run goes on: its end and its output can be verified when it is settled")
		return desk.ExitStatus(desk.ExitLater)
	}
	return nil
}
