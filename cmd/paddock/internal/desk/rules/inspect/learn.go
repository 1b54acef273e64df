package inspect

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	textdiff "github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/rules/inspect/caution"
	"paddock/cmd/paddock/internal/desk/rules/inspect/told"
	"paddock/cmd/paddock/internal/desk/rules/inspect/unused"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/review/diff"
	"paddock/internal/review/learn"
)

// A learnReport is what policy learn proposes.
type learnReport struct {
	File string `json:"file"`
	learn.Proposal
	// Changes is what would be allowed.
	Changes diff.Changes `json:"changes"`
	caution.Caution
	Written bool   `json:"written"`
	Text    string `json:"text"`
}

type learnFlags struct {
	since, by          string
	write, yes, unused bool
}

// matches reports whether a principal is one of those that are asked about.
func (f learnFlags) matches(who string) bool {
	start, any := strings.CutSuffix(f.by, "*")
	return f.by == "" || who == f.by || any && strings.HasPrefix(who, start)
}

func (d commands) learnCommand() *cobra.Command {
	var f learnFlags
	cmd := &cobra.Command{
		Use:   "learn [flags]",
		Short: "Propose what would allow the commands that were refused",
		Long: `Read the journal for commands that were refused for their program or their arguments,
and propose the smallest addition to the policy that would allow them: these commands
and no others, word by word. What a rule refuses on purpose isn't learned. What would
change is shown, as text and as what would be allowed, with what policy lint has to say
of it and of each command alone; comments and layout stay as they are.

With --unused it is the other way round: read the journal for commands that were run,
and propose to take out programs and argument rules that none of them needed, and to
put what was used in the place of any. What refuses stays, and so does what the tests
of the policy demand. A journal knows nothing of what is run less often than it is old.

Nothing is written without --write, and then after a question or with --yes.
The exit status is 0 when there is nothing to propose or it was written, and 1 when
there is a proposal.`,
		Example: "  paddock policy learn --since 2h\n  paddock policy learn --by 'stdio:*' --write",
		Args:    desk.Wants(0, 0, "no words"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.learn(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.since, "since", "", "only what was refused since this `TIME`, or so long ago: 90m")
	cmd.Flags().StringVar(&f.by, "by", "", "only what this `ID` asked for; a * at its end stands for anything")
	cmd.Flags().BoolVarP(&f.write, "write", "w", false, "change the policy, once it was shown")
	cmd.Flags().BoolVar(&f.unused, "unused", false, "propose to take out what no run needed")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "don't ask")
	return cmd
}

func (d commands) learn(ctx context.Context, f learnFlags) error {
	path, data, err := d.files.Policy(nil)
	if err != nil {
		return err
	}
	more := d.Lineage.More(path, data)
	if _, err := policy.Load(path, data, more...); err != nil {
		return broken(path, err, "nothing was learned")
	}
	if at := table.Extended(path, data); at != "" {
		return desk.Usage(desk.Plain(path)+" only takes away from "+desk.Plain(at), "programs and their arguments are allowed there: paddock policy learn --policy "+desk.Quote(at))
	}
	since, err := d.Since(f.since)
	if err != nil {
		return err
	}
	if f.unused {
		q := unused.Question{Path: path, Data: data}
		if q.Used, q.Runs, err = told.Started(ctx, d.Desk, data, since, f.matches); err != nil {
			return err
		}
		if f.write {
			q.Write = func(question string, text []byte) error { return d.write(path, question, data, text, f) }
		}
		return unused.Answer(d.Desk, q)
	}
	seen, err := told.Refused(ctx, d.Desk, data, since, f.matches)
	if err != nil {
		return err
	}
	r := learnReport{File: path, Changes: diff.Changes{}}
	if r.Proposal, err = learn.Propose(path, data, seen, d.program); err != nil {
		return desk.Usage(desk.Plain(path)+": "+desk.Plain(err.Error()), "nothing was changed")
	}
	r.Text = string(r.Proposal.Text)
	if changes, err := diff.Compare(diff.Source{Name: path, Data: data}, diff.Source{Name: path, Data: r.Proposal.Text}); err != nil {
		return err
	} else if changes != nil {
		r.Changes = changes
	}
	if r.Caution, err = caution.Of(path, data, r.Proposal); err != nil {
		return err
	}
	return d.propose(r, data, f)
}

// write puts text in the place of the policy, once a person has agreed.
func (d commands) write(path, question string, data, text []byte, f learnFlags) error {
	if err := d.files.Agree(question, "read what policy learn shows, then say --yes", f.yes); err != nil {
		return err
	}
	return d.files.Rewrite(d.files.Real(path), data, text)
}

// program finds the file of a word, or says why there is none.
func (d commands) program(word string) (string, string) {
	if file := d.files.Program(word); file != "" {
		return file, ""
	}
	return "", "no such program is installed"
}

// propose shows a proposal, and writes it where that is wanted.
func (d commands) propose(r learnReport, data []byte, f learnFlags) error {
	changed := !bytes.Equal(r.Proposal.Text, data)
	if !d.JSON {
		if err := d.showLesson(r, data); err != nil {
			return err
		}
	}
	if changed && f.write {
		question := fmt.Sprintf("let %s allow %d more commands?", desk.Plain(r.File), len(r.Learned))
		if err := d.write(r.File, question, data, r.Proposal.Text, f); err != nil {
			return err
		}
		r.Written = true
	}
	switch {
	case d.JSON:
		if err := d.Object(r); err != nil {
			return err
		}
	case r.Written:
		d.Say("note", desk.Plain(r.File)+" was changed")
	case !changed:
		d.Say("note", "there is nothing to learn")
	default:
		d.Say("hint", "read it; paddock policy learn --write puts it there")
	}
	if changed && !r.Written {
		return desk.ExitStatus(desk.ExitNo)
	}
	return nil
}

func (d commands) showLesson(r learnReport, data []byte) error {
	var b bytes.Buffer
	if !bytes.Equal(r.Proposal.Text, data) {
		b.Write(textdiff.Diff(r.File, data, r.File+" as proposed", r.Proposal.Text))
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%s at %s: %s\n", c.Effect, c.At, c.Message)
	}
	for _, l := range r.Learned {
		fmt.Fprintf(&b, "learned: %s (%d times, by %s)\n", desk.QuoteAll(l.Argv), l.Times, strings.Join(l.By, ", "))
		for _, w := range r.Beside(l.Argv) {
			fmt.Fprintf(&b, "  warning: %s at %s: %s\n", w.ID, w.At, desk.Plain(w.Message))
		}
	}
	later := 0
	for _, l := range r.Skipped {
		if l.Why == learn.Later {
			later++
			continue
		}
		fmt.Fprintf(&b, "not learned: %s: %s\n", desk.QuoteAll(l.Argv), l.Why)
	}
	if later > 0 {
		fmt.Fprintf(&b, "not learned: %d more: %s\n", later, learn.Later)
	}
	for _, one := range r.Rest() {
		fmt.Fprintf(&b, "lint: %s at %s: %s\n", one.ID, one.At, one.Message)
	}
	return unused.Print(d.Desk, b.Bytes())
}
