package doctor

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
	"paddock/cmd/paddock/internal/desk/doctor/diagnosis"
)

// show prints a report: a table for each level, then what is broken with what to
// do, then the machine and the policy.
func (d commands) show(r Report) error {
	if d.JSON {
		return d.Object(r)
	}
	var b bytes.Buffer
	for _, level := range r.Levels {
		if err := showLevel(&b, level); err != nil {
			return err
		}
	}
	b.WriteString("machine\n")
	showFacts(&b, r.Machine)
	showPolicy(&b, r.Policy)
	_, err := d.Out.Write(b.Bytes())
	return err
}

func showFacts(b *bytes.Buffer, facts []diagnosis.Fact) {
	for _, f := range facts {
		fmt.Fprintf(b, "  %-16s %s\n", f.Name, desk.Plain(f.Text))
		if f.Remedy != "" {
			fmt.Fprintf(b, "  %-16s → %s\n", "", desk.Plain(f.Remedy))
		}
	}
}

func showLevel(b *bytes.Buffer, r LevelReport) error {
	if !r.Available {
		fmt.Fprintf(b, "%s: not available here: %s\n\n", r.Level, desk.Plain(r.Problem))
		return nil
	}
	if r.Problem != "" {
		fmt.Fprintf(b, "%s: nothing could be attempted: %s\n\n", r.Level, desk.Plain(r.Problem))
		return nil
	}
	verdict, untried := "every promise holds", 0
	for _, c := range r.Checks {
		if c.Promised && !c.Tried && !c.Broken {
			untried++
		}
	}
	if untried > 0 {
		verdict = fmt.Sprintf("every promise that could be tried holds, %d could not", untried)
	}
	if r.Broken > 0 {
		verdict = fmt.Sprintf("promises that do NOT hold: %d", r.Broken)
	}
	fmt.Fprintf(b, "%s: %s (%s)\n", r.Level, verdict, means(r))
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  ATTEMPT\tPROMISED\tHERE\tWHAT THE KERNEL SAID")
	for _, c := range r.Checks {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", c.Check, map[bool]string{true: "held", false: "-"}[c.Promised], outcome(c), desk.Plain(shorten(c.Detail)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range r.Checks {
		if c.Broken {
			fmt.Fprintf(b, "  BROKEN %s: %s\n    the table says: %s\n    it means: %s\n    → %s\n", c.Check, desk.Plain(c.Detail), c.Row, c.Meaning, c.Remedy)
		}
	}
	b.WriteString("\n")
	return nil
}

func outcome(c CheckReport) string {
	switch {
	case c.Broken:
		return "NOT HELD"
	case !c.Tried:
		return "not tried"
	case c.Held:
		return "held"
	}
	return "open"
}

// means says by what a level is held here.
func means(r LevelReport) string {
	text := "tree: " + string(r.Tree) + ", by " + string(r.Isolation)
	if e := r.Enforced; e != nil && e.Level != paddock.Off {
		text += fmt.Sprintf("; Landlock ABI %d, filter %s", e.LandlockABI, e.Filter.Short())
	}
	if e := r.Enforced; e != nil && e.Identity != nil {
		text += fmt.Sprintf("; as uid %d, evidence %s", e.Identity.UID, e.Evidence)
	}
	return desk.Plain(text)
}

// shorten keeps a table readable; --json has all of it.
func shorten(text string) string {
	const most = 80
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func showPolicy(b *bytes.Buffer, p PolicyReport) {
	switch {
	case p.Problem != "" && p.Path != "":
		fmt.Fprintf(b, "policy %s: %s\n  → %s\n", desk.Plain(p.Path), desk.Plain(p.Problem), desk.Plain(p.Remedy))
	case p.Problem != "":
		fmt.Fprintf(b, "policy: %s\n  → %s\n", desk.Plain(p.Problem), desk.Plain(p.Remedy))
	default:
		fmt.Fprintf(b, "policy %s requires %s, which is available here\n", desk.Plain(p.Path), p.Level)
	}
	for _, file := range p.HeldTo {
		fmt.Fprintf(b, "  it is held to %s, too\n", desk.Plain(file))
	}
	showFacts(b, p.Names)
}
