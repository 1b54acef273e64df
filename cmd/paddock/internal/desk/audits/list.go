package audits

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/journal"
	"paddock/internal/journal/short/removed"
)

func (d commands) listCommand() *cobra.Command {
	var run, kind, since string
	var archive []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show what the journal tells, oldest first",
		Long: `Show the journal's entries, oldest first, one a line. With --json each line is the
entry as it is in the journal.`,
		Args: desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := d.Since(since)
			if err != nil {
				return err
			}
			id, err := d.runID(run)
			if err != nil {
				return err
			}
			f := evidence.Filter{Run: id, Kind: journal.Kind(kind), Since: from}
			for _, dir := range archive {
				f.Archive = append(f.Archive, d.Absolute(dir))
			}
			return d.with(func(e *evidence.Evidence) error { return d.list(cmd, e, f) })
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "only entries of this `RUN`")
	cmd.Flags().StringVar(&kind, "kind", "", "only entries of this `KIND`: start, end, addendum, refusal, refusals, kill, prune, policy, checkpoint …")
	cmd.Flags().StringVar(&since, "since", "", "only entries since this `TIME`, or so long ago: 90m")
	cmd.Flags().StringArrayVar(&archive, "archive", nil, "`DIR` to which older segments were moved")
	return cmd
}

func (d commands) list(cmd *cobra.Command, e *evidence.Evidence, f evidence.Filter) error {
	broken, err := e.List(cmd.Context(), f, func(entry journal.Entry, line []byte) error {
		if d.JSON { // byte for byte, so that it can be checked elsewhere
			_, err := fmt.Fprintf(d.Out, "%s\n", line)
			return err
		}
		_, err := fmt.Fprintf(d.Out, "%6d  %s  %-10s  %s\n", entry.Seq, entry.Time.Local().Format("2006-01-02 15:04:05"), desk.Plain(string(entry.Kind)), strings.Join(words(entry), "  "))
		return err
	})
	if broken > 0 {
		d.Say("warning", fmt.Sprintf("%d lines aren't whole entries; paddock audit verify tells of them", broken))
	}
	return err
}

// words tells an entry in a few words.
func words(e journal.Entry) []string {
	var w []string
	if e.Run != "" {
		w = append(w, desk.Plain(string(e.Run)))
	}
	if e.Principal != nil {
		w = append(w, desk.Plain(e.Principal.ID))
	}
	switch {
	case e.Start != nil:
		w = append(w, argv(e.Start.Words))
	case e.End != nil:
		w = append(w, desk.Plain(end(*e.End)))
	case e.Addendum != nil:
		w = append(w, desk.Plain(end(*e.Addendum)))
	case e.Refusal != nil:
		w = append(w, desk.Plain(string(e.Refusal.Code)), argv(e.Refusal.Words))
	case e.Refusals != nil:
		w = append(w, counts(e.Refusals.Codes))
	case e.Kill != nil:
		w = append(w, desk.Plain(e.Kill.By+" "+e.Kill.Signal+" "+e.Kill.Why))
	case e.Prune != nil:
		w = append(w, desk.Plain(pruned(*e.Prune)))
	case e.Forgotten != nil:
		w = append(w, desk.Plain(fmt.Sprintf("%d %s: %s", e.Forgotten.Count, e.Forgotten.What, strings.Join(e.Forgotten.IDs, ", "))))
	case e.Unmasked != nil:
		w = append(w, desk.Plain(fmt.Sprintf("%s, bytes %d to %d", e.Unmasked.Stream, e.Unmasked.From, e.Unmasked.To)))
		if n := e.Unmasked.Pages; n > 0 {
			w = append(w, fmt.Sprintf("%d pages", n))
		}
	case e.Anchored != nil:
		w = append(w, desk.Plain(strings.TrimSpace(fmt.Sprintf("worker %s, %d entries. %s", e.Anchored.Worker, e.Anchored.Size, e.Anchored.Problem))))
	case e.Account != nil:
		w = append(w, desk.Plain(strings.TrimSpace(e.Account.What+" "+e.Account.User+" "+e.Account.More)))
	case e.Approval != nil:
		w = append(w, desk.Plain(strings.TrimSpace(e.Approval.Step+" "+string(e.Approval.ID)+" "+e.Approval.Name+" "+e.Approval.Reason)))
	case e.Policy != nil:
		w = append(w, desk.Plain(string(e.Policy.Digest)))
		if e.Policy.Problem != "" {
			w = append(w, "doesn't count, "+e.Policy.InForce.Short()+" does: "+desk.Plain(e.Policy.Problem))
		}
	case e.Recovered != nil:
		w = append(w, fmt.Sprintf("%d bytes before this were torn", e.Recovered.Bytes))
	case e.Begin != nil:
		w = append(w, "journal "+desk.Plain(e.Begin.ID))
	case e.Rotate != nil:
		w = append(w, fmt.Sprintf("segment %d", e.Rotate.Segment))
	case e.Abandoned != "":
		w = append(w, desk.Plain(e.Abandoned))
	}
	return w
}

func argv(w journal.Words) string {
	text := desk.QuoteAll(w.Argv)
	if w.Count > 0 {
		text += fmt.Sprintf(" … (%d words)", w.Count)
	}
	return text
}

func end(e journal.EndDetail) string {
	text := string(e.State)
	switch {
	case e.State == paddock.Exited && e.ExitCode != nil:
		text += fmt.Sprintf(" %d", *e.ExitCode)
	case e.State != paddock.Exited:
		text += " (" + string(e.Reason) + ")"
	}
	return fmt.Sprintf("%s, stdout %d bytes %s, stderr %d bytes %s", text, e.Stdout.Bytes, e.Stdout.Digest.Short(), e.Stderr.Bytes, e.Stderr.Digest.Short())
}

func pruned(p removed.Output) string {
	what := "output"
	if p.Record {
		what = "record and output"
	}
	return fmt.Sprintf("%s of %d bytes (%s), by %s", what, p.Bytes, p.Reason, p.By)
}

func counts(codes map[paddock.Code]int64) string {
	var parts []string
	for _, info := range paddock.Codes() {
		if n := codes[info.Code]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", n, info.Code))
		}
	}
	return strings.Join(parts, ", ")
}
