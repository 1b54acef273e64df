package inspect

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/shape/layout"
	"paddock/internal/policy/compiled/document/shape/table"
)

// A fmtReport is what policy fmt found and did.
type fmtReport struct {
	File string `json:"file"`
	// Changed is set when the layout is another than what was there, Written when
	// it was written.
	Changed bool   `json:"changed"`
	Written bool   `json:"written"`
	Text    string `json:"text"`
}

func (d commands) fmtCommand() *cobra.Command {
	var write, differs bool
	cmd := &cobra.Command{
		Use:   "fmt [flags] [FILE]",
		Short: "Lay a policy out in one way, its comments kept",
		Long: `Print a policy, by default the one that applies here, in the one layout: keys in
the order of the manual, two spaces for each step, a blank line between sections.
Comments stay where they belong, and quotes, blocks and brackets as they are written.
What the policy says doesn't change; where it would, or a comment would be lost, nothing
is done and the reason is said.

With -w the file is changed. With -d what would change is shown, and the exit status is
1 when there is something. A file whose digest was trusted must be trusted anew.`,
		Example: "  paddock policy fmt -d\n  paddock policy fmt -w policy.yaml",
		Args:    desk.Wants(0, 1, "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := desk.OneOf(cmd, "write", "diff"); err != nil {
				return err
			}
			return d.fmt(args, write, differs)
		},
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "change the file instead of printing")
	cmd.Flags().BoolVarP(&differs, "diff", "d", false, "show what would change; the exit status says whether something would")
	return cmd
}

func (d commands) fmt(args []string, write, differs bool) error {
	path, data, err := d.files.Policy(args)
	if err != nil {
		return err
	}
	if _, err := policy.Load(path, data, d.Lineage.More(path, data)...); err != nil {
		return broken(path, err, "nothing was laid out")
	}
	text, err := layout.Format(data, table.Policy)
	if err != nil {
		return desk.Usage(desk.Plain(path)+": "+desk.Plain(err.Error()), "nothing was changed")
	}
	r := fmtReport{File: path, Changed: !bytes.Equal(text, data), Text: string(text)}
	if write && r.Changed {
		if err := d.files.Rewrite(d.files.Real(path), data, text); err != nil {
			return err
		}
		r.Written = true
	}
	switch {
	case d.JSON:
		err = d.Object(r)
	case r.Written:
		d.Say("note", desk.Plain(path)+" is laid out anew")
	case write:
		d.Say("note", desk.Plain(path)+" is laid out already")
	case differs:
		for line := range bytes.Lines(diff.Diff(path, data, path+" laid out", text)) {
			if _, err := d.Out.Write([]byte(desk.Plain(string(bytes.TrimSuffix(line, []byte("\n")))) + "\n")); err != nil {
				return err
			}
		}
	default:
		_, err = d.Out.Write(text)
	}
	if err == nil && differs && r.Changed {
		return desk.ExitStatus(desk.ExitNo)
	}
	return err
}

func (d commands) schemaCommand() *cobra.Command {
	var tests bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a policy",
		Long: `Print the JSON Schema by which an editor helps to write a policy, or with --tests that
of a file of tests. It is made of the same table as the reader of policies: what the
schema refuses doesn't load. It can't say everything: paddock policy check does.`,
		Example: "  paddock policy schema > policy.schema.json",
		Args:    desk.Wants(0, 0, "no words"),
		RunE: func(*cobra.Command, []string) error {
			text := document.Schema()
			if tests {
				text = document.TestsSchema()
			}
			_, err := d.Out.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "that of a file of tests")
	return cmd
}
