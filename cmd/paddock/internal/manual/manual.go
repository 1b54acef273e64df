// Package manual writes the tree of commands as manual pages.
//
// # Limits
//
// Cobra's own generator would bring a Markdown converter into the binary. This
// one knows only what our help texts use: paragraphs, and lines that begin with
// two spaces and are kept as they are. It writes no file and gives pages no date,
// so that the same program always makes the same pages.
package manual

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Page is one manual page.
type Page struct {
	Name string // of the file, as paddock-run.1
	Text []byte // in the man macros of roff
}

// Pages returns a page for root and for every visible command below it.
func Pages(root *cobra.Command, version string) []Page {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return below(root, version)
}

func below(cmd *cobra.Command, version string) []Page {
	pages := []Page{page(cmd, version)}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() && child.Name() != "help" {
			pages = append(pages, below(child, version)...)
		}
	}
	return pages
}

func title(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func page(cmd *cobra.Command, version string) Page {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s Paddock\n", quoted(strings.ToUpper(title(cmd))), quoted("paddock "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(title(cmd)), escape(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", escape(synopsis(cmd)))
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	text(&b, long)
	flags(&b, "OPTIONS", cmd.NonInheritedFlags())
	flags(&b, "COMMON OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		text(&b, cmd.Example)
	}
	also(&b, cmd)
	return Page{Name: title(cmd) + ".1", Text: b.Bytes()}
}

func synopsis(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

// text writes paragraphs; indented lines are kept as they are.
func text(b *bytes.Buffer, s string) {
	kept := false
	for line := range strings.SplitSeq(s, "\n") {
		verbatim := strings.HasPrefix(line, "  ")
		if verbatim != kept {
			b.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n"}[verbatim])
			kept = verbatim
		}
		if line == "" {
			line = ".PP"
		} else {
			line = escape(line)
		}
		b.WriteString(line + "\n")
	}
	if kept {
		b.WriteString(".fi\n")
	}
}

func flags(b *bytes.Buffer, heading string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", heading)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		words := "--" + f.Name
		if f.Shorthand != "" {
			words = "-" + f.Shorthand + ", " + words
		}
		if name != "" {
			words += " " + name
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(words), escape(usage))
	})
}

func also(b *bytes.Buffer, cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, title(cmd.Parent()))
	}
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() && child.Name() != "help" {
			names = append(names, title(child))
		}
	}
	slices.Sort(names)
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", escape(name), comma)
	}
}

// escape keeps roff from taking text for commands.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func quoted(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `\(dq`) + `"` }
