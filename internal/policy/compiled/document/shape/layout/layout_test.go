package layout_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/shape/layout"
	"paddock/internal/policy/compiled/document/shape/table"
)

const wild = `# head of the file

executables:
- path: /bin/x   # where it is
  # its name
  name: x
  args:
  - message: of
        two   lines
    deny: [a, "b c",   '<re:x>',... ]  # a rule
    # no more of these
- {path: /y, name: y, args: any}


roots:

    # where work is done
    - path:   "/a"
# about the format
version: 1
rules:
  - ask: |
      executable == "make" &&

        "# no comment" in argv
    name: r
limits: {timeout: 12s,
         idle: 3s} # short
containment:   {require: off}
# the end
`

const tidy = `# head of the file

# about the format
version: 1

roots:
  # where work is done
  - path: "/a"

executables:
  # its name
  - name: x
    path: /bin/x # where it is
    args:
      - deny: [a, "b c", '<re:x>', ...] # a rule
        message: of two   lines
        # no more of these
  - {name: y, path: /y, args: any}

rules:
  - name: r
    ask: |
      executable == "make" &&

        "# no comment" in argv

limits: {timeout: 12s, idle: 3s} # short

containment: {require: off}
# the end
`

func TestFormat(t *testing.T) {
	got, err := layout.Format([]byte(wild), table.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tidy, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := layout.Format(got, table.Policy)
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("laid out again it differs: %v\n%s", err, again)
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{
		"", "version: 2\n", "version: 1\nroots: [{path: /a}]\nexecutables: []\nnonsense: 1\n", "\xff", "version: 1\nversion: 1\n",
		"version: 1\nroots: &a [{path: /a}]\nexecutables: []\n",
	} {
		if got, err := layout.Format([]byte(text), table.Policy); err == nil {
			t.Errorf("%q was laid out as %q", text, got)
		}
	}
}

// The examples of the manual say the same in any layout.
func TestExamples(t *testing.T) {
	for _, name := range []string{"policy.md", "recipes.md"} {
		text, err := os.ReadFile(filepath.Join("../../../../../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?ms)^```yaml\n(version:.*?)^```").FindAllSubmatch(text, -1) {
			if _, err := layout.Format(m[1], table.Policy); err != nil {
				t.Errorf("%v\n%s", err, m[1])
			}
		}
	}
}

// Whatever is taken says the same afterwards, and is laid out.
func FuzzFormat(f *testing.F) {
	f.Add([]byte(wild))
	f.Add([]byte(tidy))
	f.Add([]byte("version: 1 # a\nroots: [{path: /a}] # b\nexecutables: [] # c\n# d\n"))
	f.Add([]byte("{version: 1, roots: [{path: /a}], # x\nexecutables: []}\n"))
	f.Add([]byte("version: 1\r\nroots: [{path: '/a # b'}]\r\nexecutables:\r\n  []\r\ntests:\r\n- allow: [\"# c\", 012, >\n  x]\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := layout.Format(data, table.Policy)
		if err != nil {
			return
		}
		was, faults := document.Read("", data)
		is, more := document.Read("", got)
		if len(faults) == 0 && len(more) > 0 {
			t.Fatalf("%v\n%q\n%q", more, data, got)
		}
		if len(was.Roots) != len(is.Roots) || len(was.Executables) != len(is.Executables) || len(was.Tests) != len(is.Tests) ||
			!slices.EqualFunc(was.Tests, is.Tests, func(a, b document.Test) bool { return slices.Equal(a.Argv, b.Argv) }) {
			t.Fatalf("%q\n%q", data, got)
		}
		if again, err := layout.Format(got, table.Policy); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%v\n%q\n%q", err, got, again)
		}
	})
}
