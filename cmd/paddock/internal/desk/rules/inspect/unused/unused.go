// Package unused proposes to take out of a policy what no recorded run needed.
//
// # Limits
//
// What isn't needed is package learn's to say. Here the proposal is shown, and written
// where that is wanted. A journal that begins yesterday knows nothing of what is run
// once a month.
package unused

import (
	"bytes"
	"fmt"

	textdiff "github.com/rogpeppe/go-internal/diff"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/review/diff"
	"paddock/internal/review/learn"
)

// A Question is of one policy.
type Question struct {
	Path string
	Data []byte
	// Used is what was run, by so many Runs.
	Used []learn.Use
	Runs int
	// Write puts the proposal in the policy's place, once that is agreed to; nil where
	// it isn't wanted.
	Write func(question string, text []byte) error
}

type report struct {
	File string `json:"file"`
	learn.Narrowed
	Runs    int          `json:"runs"`
	Changes diff.Changes `json:"changes"`
	Written bool         `json:"written"`
	Text    string       `json:"text"`
}

// Answer shows what of the policy no run needed. The exit status is that of policy
// learn.
func Answer(d *desk.Desk, q Question) (err error) {
	r := report{File: q.Path, Runs: q.Runs, Changes: diff.Changes{}}
	if r.Narrowed, err = learn.Narrow(q.Path, q.Data, q.Used); err != nil {
		return desk.Usage(desk.Plain(q.Path)+": "+desk.Plain(err.Error()), "nothing was changed")
	}
	r.Text = string(r.Narrowed.Text)
	changes, err := diff.Compare(diff.Source{Name: q.Path, Data: q.Data}, diff.Source{Name: q.Path, Data: r.Narrowed.Text})
	if err != nil {
		return err
	}
	if changes.Wider() {
		return fmt.Errorf("%s: without what isn't used it would allow more, which is a bug: nothing was changed", q.Path)
	}
	if changes != nil {
		r.Changes = changes
	}
	changed := !bytes.Equal(r.Narrowed.Text, q.Data)
	if !d.JSON {
		if err := show(d, r, q.Data); err != nil {
			return err
		}
	}
	if changed && q.Write != nil {
		if err := q.Write(fmt.Sprintf("take what %d runs didn't need out of %s?", q.Runs, desk.Plain(q.Path)), r.Narrowed.Text); err != nil {
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
		d.Say("note", desk.Plain(q.Path)+" was changed")
	case !changed:
		d.Say("note", fmt.Sprintf("there is nothing to take out, by %d runs", q.Runs))
	default:
		d.Say("hint", "read it; paddock policy learn --unused --write takes it out")
	}
	if changed && !r.Written {
		return desk.ExitStatus(desk.ExitNo)
	}
	return nil
}

func show(d *desk.Desk, r report, data []byte) error {
	var b bytes.Buffer
	if !bytes.Equal(r.Narrowed.Text, data) {
		b.Write(textdiff.Diff(r.File, data, r.File+" as proposed", r.Narrowed.Text))
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%s at %s: %s\n", c.Effect, c.At, c.Message)
	}
	for _, n := range r.Narrowed.Narrowed {
		fmt.Fprintf(&b, "not needed: %s, line %d: %s\n", n.At, n.Position.Line, n.Message)
	}
	for _, n := range r.Kept {
		fmt.Fprintf(&b, "kept: %s, line %d: %s\n", n.At, n.Position.Line, n.Message)
	}
	return Print(d, b.Bytes())
}

// Print prints lines as people can be shown them.
func Print(d *desk.Desk, text []byte) error {
	for line := range bytes.Lines(text) {
		if _, err := d.Out.Write([]byte(desk.Plain(string(bytes.TrimSuffix(line, []byte("\n")))) + "\n")); err != nil {
			return err
		}
	}
	return nil
}
