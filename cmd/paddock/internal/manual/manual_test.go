package manual

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestPages(t *testing.T) {
	t.Parallel()
	root := &cobra.Command{Use: "tool", Short: "Do things", CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}}
	child := &cobra.Command{
		Use: "run [flags] WORD…", Short: "Run it", Run: func(*cobra.Command, []string) {},
		Long: "First line.\n.Second \\ line.\n\n  kept -- as it is\n  'so is this\nAfter.", Example: "  tool run x",
	}
	child.Flags().StringP("name", "n", "", "the `NAME` of it")
	child.Flags().Bool("secret", false, "not shown")
	if err := child.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(child, &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}})
	pages := Pages(root, "1.0")
	var names []string
	for _, p := range pages {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"tool.1", "tool-run.1"}, names); diff != "" {
		t.Fatalf("pages (-want +got):\n%s", diff)
	}
	want := strings.TrimPrefix(`
.TH "TOOL\-RUN" 1 "" "tool 1.0" Paddock
.SH NAME
tool\-run \- Run it
.SH SYNOPSIS
.B tool run [flags] WORD...
.SH DESCRIPTION
First line.
\&.Second \e line.
.PP
.PP
.nf
  kept \-\- as it is
  'so is this
.fi
After.
.SH OPTIONS
.TP
.B \-n, \-\-name NAME
the NAME of it
.SH EXAMPLES
.PP
.nf
  tool run x
.fi
.SH SEE ALSO
.BR tool (1)
`, "\n")
	got := strings.Replace(string(pages[1].Text), "paddock 1.0", "tool 1.0", 1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the page (-want +got):\n%s", diff)
	}
}
