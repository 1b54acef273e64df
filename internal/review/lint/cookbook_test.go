package lint_test

import (
	"os"
	"regexp"
	"testing"

	"paddock/internal/review/lint"
)

// Every policy of the cookbook is one that lint has nothing to say of.
func TestCookbookIsClean(t *testing.T) {
	text, err := os.ReadFile("../../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^## (\\S+)\n.*?^```yaml\n(.*?)^```").FindAllSubmatch(text, -1)
	if len(found) < 10 {
		t.Fatalf("only %d policies", len(found))
	}
	for _, f := range found {
		findings, err := lint.Lint(string(f[1]), f[2], lint.Facts{})
		if err != nil {
			t.Error(err)
		}
		for _, one := range lint.Open(findings) {
			t.Errorf("%s: %s at %s: %s %q", f[1], one.ID, one.At, one.Message, one.Example)
		}
	}
}
