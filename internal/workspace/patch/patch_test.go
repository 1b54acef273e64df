package patch

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHunks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"changed": {"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"new":     {"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		"gone":    {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"no end":  {"a\n", "a", "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"same":    {"a\n", "a\n", ""},
		"binary":  {"a\x00", "b", ""},
		"latin":   {"a\xe9", "b", ""},
		"long":    {strings.Repeat("x", Most+1), "b", ""},
	} {
		if got := Hunks([]byte(c.old), []byte(c.new)); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The lines that stay and those that are added are the new text.
func TestHunksHaveBothTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Fewer lines than two hunks need to fall apart, so all of them are shown.
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "", "-", "+", "@@"}), 1, 4)
		old := strings.Join(lines.Draw(t, "old"), "\n") + "\n"
		new := strings.Join(lines.Draw(t, "new"), "\n") + "\n"
		if old == new {
			return
		}
		var from, to bytes.Buffer
		_, body, _ := strings.Cut(Hunks([]byte(old), []byte(new)), "\n")
		for line := range strings.Lines(body) {
			if line[0] != '+' {
				from.WriteString(line[1:])
			}
			if line[0] != '-' {
				to.WriteString(line[1:])
			}
		}
		if from.String() != old || to.String() != new {
			t.Fatalf("%q and %q give %q", old, new, body)
		}
	})
}
