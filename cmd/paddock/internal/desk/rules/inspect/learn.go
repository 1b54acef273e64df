package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	textdiff "github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/app/evidence"
	"paddock/internal/journal"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/review/diff"
	"paddock/internal/review/learn"
	"paddock/internal/review/lint"
)

// A learnReport is what policy learn proposes.
type learnReport struct {
	File string `json:"file"`
	learn.Proposal
	// Changes is what would be allowed, Findings what lint says of it and didn't say
	// before.
	Changes  diff.Changes   `json:"changes"`
	Findings []lint.Finding `json:"findings"`
	Written  bool           `json:"written"`
	Text     string         `json:"text"`
}

type learnFlags struct {
	since, by  string
	write, yes bool
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
of it; comments and layout stay as they are.

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
	if at := document.Extended(path, data); at != "" {
		return desk.Usage(desk.Plain(path)+" only takes away from "+desk.Plain(at), "programs and their arguments are allowed there: paddock policy learn --policy "+desk.Quote(at))
	}
	seen, err := d.refused(ctx, f)
	if err != nil {
		return err
	}
	r := learnReport{File: path, Changes: diff.Changes{}, Findings: []lint.Finding{}}
	if r.Proposal, err = learn.Propose(path, data, seen, d.program); err != nil {
		return desk.Usage(desk.Plain(path)+": "+desk.Plain(err.Error()), "nothing was changed")
	}
	r.Text = string(r.Proposal.Text)
	if changes, err := diff.Compare(diff.Source{Name: path, Data: data}, diff.Source{Name: path, Data: r.Proposal.Text}); err != nil {
		return err
	} else if changes != nil {
		r.Changes = changes
	}
	if err := d.news(&r, data); err != nil {
		return err
	}
	return d.propose(r, data, f)
}

// program finds the file of a word, or says why there is none.
func (d commands) program(word string) (string, string) {
	if file := d.files.Program(word); file != "" {
		return file, ""
	}
	return "", "no such program is installed"
}

// news are the findings of the new text that the old one hadn't.
func (d commands) news(r *learnReport, data []byte) error {
	facts := lint.Facts{}
	old, err := lint.Lint(r.File, data, facts)
	if err != nil {
		return err
	}
	now, err := lint.Lint(r.File, r.Proposal.Text, facts)
	for _, finding := range lint.Open(now) {
		if !slices.ContainsFunc(old, func(o lint.Finding) bool { return o.ID == finding.ID && o.At == finding.At }) {
			r.Findings = append(r.Findings, finding)
		}
	}
	return err
}

// refused reads the journal for commands that were refused.
func (d commands) refused(ctx context.Context, f learnFlags) (seen []learn.Command, err error) {
	since, err := d.Since(f.since)
	if err != nil {
		return nil, err
	}
	state := d.StateDir(d.State)
	if state == "" {
		return nil, desk.Usage("there is no place where a journal could be", "set HOME, or name a directory with --state")
	}
	e, err := evidence.Open(d.Operator(), state, d.Now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	all, cut := map[string]int{}, 0
	broken, err := e.List(ctx, evidence.Filter{Kind: journal.Refusal, Since: since}, func(entry journal.Entry, _ []byte) error {
		who, what := "", entry.Refusal
		if entry.Principal != nil {
			who = entry.Principal.ID
		}
		start, any := strings.CutSuffix(f.by, "*")
		if f.by != "" && who != f.by && (!any || !strings.HasPrefix(who, start)) {
			return nil
		}
		if what.Count > 0 || journal.WordsOf(what.Argv).Digest != what.Digest {
			cut++
			return nil
		}
		key := strings.Join(what.Argv, "\x00")
		i, known := all[key]
		if !known {
			i = len(seen)
			all[key] = i
			seen = append(seen, learn.Command{Argv: what.Argv})
		}
		seen[i].Codes = append(slices.Clone(what.Others), what.Code) // as it was refused last
		if seen[i].Times++; !slices.Contains(seen[i].By, who) {
			seen[i].By = append(seen[i].By, who)
		}
		return nil
	})
	if cut+broken > 0 {
		d.Say("note", fmt.Sprintf("%d refusals aren't whole in the journal, and are left out", cut+broken))
	}
	return seen, err
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
		if err := d.files.Agree(question, "read what policy learn shows, then say --yes", f.yes); err != nil {
			return err
		}
		if err := d.files.Rewrite(d.files.Real(r.File), data, r.Proposal.Text); err != nil {
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
	}
	for _, l := range r.Skipped {
		fmt.Fprintf(&b, "not learned: %s: %s\n", desk.QuoteAll(l.Argv), l.Why)
	}
	for _, one := range r.Findings {
		fmt.Fprintf(&b, "lint: %s at %s: %s\n", one.ID, one.At, one.Message)
	}
	for line := range bytes.Lines(b.Bytes()) {
		if _, err := d.Out.Write([]byte(desk.Plain(string(bytes.TrimSuffix(line, []byte("\n")))) + "\n")); err != nil {
			return err
		}
	}
	return nil
}
