package kept

import (
	"bufio"
	"fmt"
	"strings"

	"paddock"
	"paddock/cmd/paddock/internal/desk"
)

// show writes what a run changed, each file by text.
func (d commands) show(all paddock.Changes, text func(paddock.FileChange) string) error {
	if d.JSON {
		return d.Object(all)
	}
	out := bufio.NewWriter(d.Out)
	for _, f := range all.Files {
		if _, err := out.WriteString(text(f)); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, dir := range all.Unreadable {
		d.Say("warning", dir+" can't be looked into, so nobody knows what is in it")
	}
	if all.Left > 0 {
		d.Say("note", fmt.Sprintf("and %d further changes; name paths to see them", all.Left))
	}
	if len(all.Files)+len(all.Unreadable) == 0 {
		d.Say("note", "the run changed nothing that its workspace doesn't have")
	}
	return nil
}

var letters = map[string]string{"added": "A", "modified": "M", "deleted": "D"}

// stats is a change in a line.
func stats(f paddock.FileChange) string {
	line := letters[f.Change] + "  " + desk.Plain(f.Path)
	var notes []string
	if f.Added+f.Removed > 0 {
		notes = append(notes, fmt.Sprintf("+%d -%d", f.Added, f.Removed))
	}
	notes = append(notes, about(f)...)
	if len(notes) > 0 {
		line += "  (" + strings.Join(notes, ", ") + ")"
	}
	return line + "\n"
}

// about says what no hunk does.
func about(f paddock.FileChange) []string {
	var notes []string
	switch {
	case f.Old != "" && f.New != "" && f.Old != f.New:
		notes = append(notes, f.Old+" becomes "+f.New)
	case f.New != "" && f.New != "file":
		notes = append(notes, f.New)
	case f.Old != "" && f.Old != "file":
		notes = append(notes, f.Old)
	}
	if f.OldMode != f.NewMode && f.Old == f.New && f.Old != "link" {
		notes = append(notes, "mode "+f.OldMode+" becomes "+f.NewMode)
	}
	if f.NewTarget != "" {
		notes = append(notes, "points to "+desk.Plain(f.NewTarget))
	}
	if f.Unshown != "" {
		notes = append(notes, desk.Plain(f.Unshown), desk.Size(f.OldSize)+" becomes "+desk.Size(f.NewSize))
	}
	return notes
}

// patch is a change as part of a diff. Names and lines come from a program: they
// may not move the cursor.
func (d commands) patch(f paddock.FileChange) string {
	var out strings.Builder
	out.WriteString(d.Painted("bold", f.Change+" "+desk.Plain(f.Path)) + "\n")
	for _, note := range about(f) {
		out.WriteString("  " + note + "\n")
	}
	if f.Old == "" && f.New == "file" && f.NewMode != "0644" {
		out.WriteString("  mode " + f.NewMode + "\n")
	}
	if f.Hunks == "" {
		return out.String()
	}
	from, to := "a/"+desk.Plain(f.Path), "b/"+desk.Plain(f.Path)
	if f.Old != "file" {
		from = "/dev/null"
	}
	if f.New != "file" {
		to = "/dev/null"
	}
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
	for line := range strings.Lines(f.Hunks) {
		// Tabs are text; all else that isn't printable is spelled out.
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, word := range words {
			words[i] = desk.Plain(word)
		}
		meaning := map[byte]string{'+': "pass", '-': "refuse"}[line[0]]
		out.WriteString(d.Painted(meaning, strings.Join(words, "\t")) + "\n")
	}
	return out.String()
}

// applied shows what was brought into a workspace.
func (d commands) applied(a paddock.Applied) error {
	if d.JSON {
		return d.Object(a)
	}
	for _, p := range a.Paths {
		if _, err := fmt.Fprintln(d.Out, desk.Plain(p)); err != nil {
			return err
		}
	}
	if len(a.Paths) == 0 {
		d.Say("note", "the run changed nothing that its workspace doesn't have, so nothing was applied")
	}
	return nil
}
