package policy_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/document/shape/table"
)

// go test ./internal/policy -run 'Doc|Schema' -update writes the generated files anew.
var update = flag.Bool("update", false, "write generated documents instead of comparing them")

const docs = "../../docs"

// generated holds a document to what it is generated from.
func generated(t *testing.T, name string, want []byte) {
	t.Helper()
	path := filepath.Join(docs, name)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/%s isn't what the code says; run go test ./internal/policy -run 'Doc|Schema' -update\n%s", name, diff)
	}
}

func TestSchemaFile(t *testing.T) { generated(t, "policy.schema.json", policy.Schema()) }

func TestRefusalsDoc(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`# Refusals

<!-- Generated from the table in code.go: go test ./internal/policy -run Doc -update -->

A refusal is a decision and not an error: nothing broke, and asking again for the
same gives the same answer unless *retry* says otherwise. Programs read ` + "`code`" + `, which
never changes; people and models read ` + "`message`" + `, which says what was refused and why,
and ` + "`hint`" + `, which says what to do next and is often more exact than the one here.
` + "`gate`" + ` is the question that was answered with no, ` + "`position`" + ` the place in the policy
that decided, ` + "`rule`" + ` the name of the rule, ` + "`suggestion`" + ` a form that was probably meant
(nothing ever runs it), and ` + "`others`" + ` the further reasons: every gate is asked, so that
all of them can be mended at once.

| code | gate | meaning | what to do next | retry |
|---|---|---|---|---|
`)
	for _, c := range paddock.Codes() {
		gate, retry := string(c.Gate), "no"
		if gate == "" {
			gate = "–"
		}
		if c.Retryable {
			retry = "yes"
		}
		cell := strings.NewReplacer("|", "\\|", "\n", " ").Replace
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Code, gate, cell(c.Meaning), cell(c.Hint), retry)
	}
	generated(t, "refusals.md", b.Bytes())
}

// Every YAML example of the manual and of the recipes is a policy, or is marked as what isn't one.
func TestPolicyDocExamples(t *testing.T) {
	var text []byte
	for _, name := range []string{"policy.md", "recipes.md"} {
		one, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, one...)
	}
	examples := regexp.MustCompile("(?ms)^```yaml( refused)?\n(.*?)^```").FindAllSubmatch(text, -1)
	if len(examples) < 12 {
		t.Fatalf("only %d examples were found", len(examples))
	}
	for _, e := range examples {
		example := string(e[2])
		if !strings.HasPrefix(example, "version:") { // a part is shown: put it into a whole
			example = completed(example)
		}
		var more []policy.Source
		if of := table.Extended("/p/example.yaml", []byte(example)); of != "" {
			more = append(more, policy.Source{Name: of, Data: []byte("version: 1\nroots: [{path: /srv/checkout}]\nexecutables: []\n")})
		}
		_, err := policy.Load("/p/example.yaml", []byte(example), more...)
		if refused := len(e[1]) > 0; refused != (err != nil) {
			t.Errorf("refused is %v, but loading gives %v:\n%s", refused, err, example)
		}
	}
}

// completed adds what a part of a policy lacks to be one.
func completed(part string) string {
	whole := "version: 1\n"
	for _, key := range []struct{ name, text string }{
		{"roots", "roots: [{path: /srv/checkout}]\n"},
		{"executables", "executables: []\n"},
	} {
		if !regexp.MustCompile(`(?m)^` + key.name + `:`).MatchString(part) {
			whole += key.text
		}
	}
	return whole + part
}

// The manual names every key, token, variable and gate that there is.
// A section is read at once: it fits a screen.
func TestPolicyDocFitsScreens(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range regexp.MustCompile(`(?m)^#+ `).Split(string(text), -1) {
		if n := strings.Count(section, "\n"); n > 56 {
			head, _, _ := strings.Cut(section, "\n")
			t.Errorf("%q has %d lines: give a part of it a heading of its own", head, n)
		}
	}
}

func TestPolicyDocComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range regexp.MustCompile(`"([a-z_0-9]+)": \{`).FindAllSubmatch(policy.Schema(), -1) {
		switch key := string(m[1]); key {
		case "properties", "items", "if", "then", "not": // words of JSON Schema
		default:
			want = append(want, key)
		}
	}
	for _, g := range paddock.Gates() {
		want = append(want, string(g))
	}
	want = append(want, "<word>", "<int>", "<path>", "<package>", "<re:", "{a,b}", "...", "argv", "executable", "path", "cwd",
		"principal", "principal_kind", "env", "stdin", "secrets", "launch", "agents", "quotas", "retention", "PADDOCK_POLICY")
	for _, w := range want {
		if !bytes.Contains(text, []byte("`"+w)) {
			t.Errorf("docs/policy.md doesn't name `%s`", w)
		}
	}
}
