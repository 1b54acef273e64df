package inspect

import (
	"fmt"

	"github.com/spf13/cobra"

	"paddock/cmd/paddock/internal/desk"
	"paddock/internal/policy"
	"paddock/internal/review/diff"
)

// A diffReport is what policy diff found.
type diffReport struct {
	Old string `json:"old"`
	New string `json:"new"`
	// Wider is set when something is allowed that wasn't, or it can't be told.
	Wider   bool         `json:"wider"`
	Changes diff.Changes `json:"changes"`
}

func (d commands) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what a change of a policy allows and refuses",
		Long: `Compare two policies by what they allow: programs, argument rules, roots, variables,
limits, containment and rules. Argument rules are compared as a whole, not by samples,
and each change comes with a command that is judged otherwise now.

  +  widened: something is allowed that wasn't, or held less
  ?  it can't be told that nothing is, as where a CEL rule changed
  -  narrowed: something is refused that wasn't, or held more
  ~  neither

The exit status is 0 when nothing was widened, 1 when something was or it can't be
told, and 125 when a file can't be read or has errors: fit for a check of changes.`,
		Example: "  paddock policy diff old.yaml new.yaml",
		Args:    desk.Wants(2, 2, "two files"),
		RunE: func(_ *cobra.Command, args []string) error {
			var sides [2]diff.Source
			for i := range sides {
				path, data, err := d.files.Policy(args[i : i+1])
				if err != nil {
					return err
				}
				more := d.Lineage.More(path, data)
				if _, err := policy.Load(path, data, more...); err != nil {
					return broken(path, err, "nothing was compared")
				}
				sides[i] = diff.Source{Name: path, Data: data, More: more}
			}
			changes, err := diff.Compare(sides[0], sides[1])
			if err != nil {
				return err
			}
			r := diffReport{Old: sides[0].Name, New: sides[1].Name, Wider: changes.Wider(), Changes: changes}
			if r.Changes == nil {
				r.Changes = diff.Changes{}
			}
			if err := d.showDiff(r); err != nil || !r.Wider {
				return err
			}
			return desk.ExitStatus(desk.ExitNo)
		},
	}
}

func (d commands) showDiff(r diffReport) error {
	if d.JSON {
		return d.Object(r)
	}
	signs := map[diff.Effect]string{diff.Widened: "+", diff.Unclear: "?", diff.Narrowed: "-", diff.Changed: "~"}
	counts := map[diff.Effect]int{}
	for _, c := range r.Changes {
		counts[c.Effect]++
		if _, err := fmt.Fprintf(d.Out, "%s %s: %s at %s: %s\n", signs[c.Effect], desk.Place(&c.Position), c.Effect, desk.Plain(c.At), desk.Plain(c.Message)); err != nil {
			return err
		}
	}
	switch {
	case len(r.Changes) == 0:
		d.Say("note", "both allow the same")
	case r.Wider:
		d.Say("note", fmt.Sprintf("%d widened, %d can't be told, %d narrowed", counts[diff.Widened], counts[diff.Unclear], counts[diff.Narrowed]))
	default:
		d.Say("note", fmt.Sprintf("nothing is widened, %d narrowed", counts[diff.Narrowed]))
	}
	return nil
}
