package lookalike

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	words := []string{"go", "git", "cargo", "a-b"}
	for s, want := range map[string]string{
		"gо": "go", "ｇｏ": "go", "g\u200bo": "go", "gіt": "git", "сагgо": "cargo", "a‐b": "a-b", "\ufeffgo": "go", "go\u202e": "go",
		"go": "", "gö": "", "ゴー": "", "": "", "gо" + strings.Repeat("x", 200): "", "\xff": "",
	} {
		if got := Of(s, words); got != want {
			t.Errorf("%q looks like %q, want %q", s, got, want)
		}
	}
}

// The two halves of the table belong together.
func TestTable(t *testing.T) {
	if len(confusable) != len(resembled) {
		t.Fatalf("%d letters resemble %d", len(confusable), len(resembled))
	}
	seen := map[rune]bool{}
	for i, c := range confusable {
		if c < 0x80 || resembled[i] >= 0x80 || seen[c] {
			t.Errorf("%q as %q is wrong or double", c, resembled[i])
		}
		seen[c] = true
	}
}
