package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	yaml "go.yaml.in/yaml/v4"

	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/table"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

// whole uses every key that there is.
const whole = `version: 1
roots: [{path: /srv/checkout, narrow: {limits: {timeout: 1m}, rules: [{name: n, deny: stdin}]}}, {path: /}]
principals:
  - {kind: agent, id: <word>, narrow: {roots: [{path: /srv}], executables: [{path: /bin/x, args: any}], environment: {pass: [A], accept: {B: <int>}}, containment: {require: full}}}
executables:
  - name: go
    path: /usr/local/go/bin/go
    sha256: 9f2c0000000000000000000000000000000000000000000000000000000000ab
    args:
      - allow: [test, 12, 1.5, true]
        flags: {-run: <word>, --count: <int>, -v: none}
        rest: <package>...
      - deny: [run, ...]
        message: no
    environment: {set: {A: 1, B: x}, pass: [C]}
    limits: {timeout: 1h30m, output: 64MiB, memory: 1GiB, processes: 64, cpus: 0.5}
    network: [modules.example.org:443, "*.example.org:443"]
    line_breaks: true
    max_arg_bytes: 8192
    max_args: 10
  - {path: /bin/x, args: any}
rules:
  - {name: a, deny: "true", message: m}
  - {name: b, ask: "true"}
environment: {set: {D: "1"}, pass: [E], accept: {F: <word>}}
limits: {timeout: 2d, output: 1024, open_files: 64, concurrent: 4, memory: 1048576, processes: 1, cpus: 2}
containment: {require: full, network: allowlist, read: [/a], write: [/b]}
git: {executable: /usr/bin/git, sha256: 9f2c0000000000000000000000000000000000000000000000000000000000ab, roots: [., /srv/checkout/x]}
tests:
  - {allow: [go, 1], dir: /srv}
  - {refuse: [rm], code: busy}
accept:
  - {id: L001, at: executables./bin/x, reason: it takes no words that matter}
`

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(Schema())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("policy.json", value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// both asks the reader and the schema about the same document.
func both(t testing.TB, s *jsonschema.Schema, text []byte) (reader []Fault, schema error) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return reading(t, text), validating(t, s, asJSON(t, value))
}

func reading(t testing.TB, text []byte) []Fault {
	t.Helper()
	_, faults := Read("p.yaml", text)
	return faults
}

func validating(t testing.TB, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

func asJSON(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSchemaAcceptsTheWhole(t *testing.T) {
	if faults, err := both(t, compiled(t), []byte(whole)); faults != nil || err != nil {
		t.Errorf("reader: %v\nschema: %v", faults, err)
	}
}

// Every part of a whole policy is taken out, doubled in kind and replaced by
// each sort of other value: the reader and the schema must agree on each.
func TestSchemaAndReaderAgree(t *testing.T) {
	s := compiled(t)
	others := []any{nil, 0, 1, -1, 2.5, "x", "", "/", "none", "10MiB", "5m", true, []any{}, []any{"x"}, []any{nil}, map[string]any{}, map[string]any{"x": "y"}}
	count, accepted := 0, 0
	check := func(changed any, what string) {
		// JSON is YAML, and is written in a tenth of the time: there are thousands of these.
		text := asJSON(t, changed)
		faults, verdict := reading(t, text), validating(t, s, text)
		count++
		if verdict == nil {
			accepted++
		}
		// A schema knows single values; these need arithmetic or a neighbour.
		faults = slices.DeleteFunc(faults, func(f Fault) bool {
			return strings.Contains(f.Message, "more than the most") || strings.Contains(f.Message, "listed before") || strings.Contains(f.Message, "is a directory")
		})
		if (len(faults) == 0) != (verdict == nil) {
			t.Errorf("%s: reader %v, schema %v", what, faults, verdict)
		}
	}
	var root any
	if err := yaml.Unmarshal([]byte(whole), &root); err != nil {
		t.Fatal(err)
	}
	var visit func(at string, value any, put func(any))
	visit = func(at string, value any, put func(any)) {
		for _, o := range others {
			put(o)
			check(root, fmt.Sprintf("%s = %#v", at, o))
		}
		put(value)
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				old := value[key]
				delete(value, key)
				check(root, at+"."+key+" taken out")
				value[key] = old
				visit(at+"."+key, old, func(v any) { value[key] = v })
			}
			value["zzz"] = "x"
			check(root, at+".zzz added")
			delete(value, "zzz")
		case []any:
			for i, old := range value {
				visit(fmt.Sprintf("%s[%d]", at, i), old, func(v any) { value[i] = v })
			}
		}
	}
	visit("", root, func(v any) {
		if v != nil {
			if m, ok := v.(map[string]any); ok && len(m) > 2 {
				root = m
			}
		}
	})
	if count < 500 || accepted < 50 || accepted > count/2 {
		t.Errorf("%d changes, %d accepted: this isn't much of a test", count, accepted)
	}
}

func TestSchemaExamples(t *testing.T) {
	s := compiled(t)
	const head = "version: 1\nroots: [{path: /}]\nexecutables: []\n"
	for text, good := range map[string]bool{
		head:                                  true,
		"roots: [{path: /}]\nexecutables: []": false,
		"version: 1\nextends: ../a.yaml":      true,
		"version: 1\nextends: 5":              false,
		"version: 1\nextends: a\nroots: []":   false,
		"version: 1\nextends: a\nlimits: {timeout: 1m}\nrules: []":                                                      true,
		"version: 1\nextends: a\ngit: {executable: /x}":                                                                 false,
		"version: 1\nextends: a\nretention: {age: 1d}":                                                                  false,
		"version: 1\nextends: a\nsecrets: {}":                                                                           false,
		"version: 1\nextends: a\nenvironment: {set: {A: b}}":                                                            false,
		"version: 1\nextends: a\nenvironment: {pass: [A], accept: {}}":                                                  true,
		"version: 1\nextends: a\nexecutables: [{path: /x, args: any, environment: {set: {A: b}}}]":                      false,
		"version: 1\nextends: a\nexecutables: [{path: /x, args: any, environment: {pass: [A]}}]":                        true,
		head + "principals: [{narrow: {}}]":                                                                             true,
		head + "principals: [{kind: agent}]":                                                                            false,
		head + "principals: [{kind: robot, narrow: {}}]":                                                                false,
		head + "principals: [{narrow: {git: {executable: /x}}}]":                                                        false,
		head + "principals: [{narrow: {environment: {set: {A: b}}}}]":                                                   false,
		head + "principals: [{narrow: {executables: [{path: /x, args: any, network: [a:1]}]}}]":                         false,
		head + "principals: [{narrow: {executables: [{path: /x, args: any, environment: {set: {A: b}}}]}}]":             false,
		strings.Replace(head, "{path: /}", "{path: /, narrow: {limits: {idle: 1m}}}", 1):                                true,
		strings.Replace(head, "{path: /}", "{path: /, narrow: {roots: [{path: /a}]}}", 1):                               false,
		head + "limits: {timeout: 30d, output: 10MiB}":                                                                  true,
		head + "limits: {timeout: 1d12h}":                                                                               true,
		head + "limits: {timeout: 1.5h}":                                                                                true,
		head + "limits: {timeout: ''}":                                                                                  false,
		head + "limits: {timeout: 5}":                                                                                   false,
		head + "limits: {timeout: 5 s}":                                                                                 false,
		head + "limits: {output: -5}":                                                                                   false,
		head + "limits: {output: 5KB}":                                                                                  false,
		head + "containment: {require: off}":                                                                            true,
		head + "containment: {require: off, network: host}":                                                             true,
		head + "containment: {require: full, network: host}":                                                            true,
		head + "containment: {network: host}":                                                                           true,
		head + "containment: {require: standard, network: none, read: [/a], write: [/b]}":                               true,
		head + "containment: {read: []}":                                                                                true,
		head + "containment: {read: [a]}":                                                                               false,
		head + "containment: {write: /a}":                                                                               false,
		head + "containment: {require: off, read: [/a]}":                                                                false,
		head + "containment: {require: off, write: []}":                                                                 false,
		head + "containment: {network: allowlist}":                                                                      true,
		head + "containment: {network: allowlist, require: full}":                                                       true,
		head + "containment: {network: allowlist, require: standard}":                                                   false,
		head + "containment: {network: allowlist, require: off}":                                                        false,
		strings.Replace(head, "[]", "[{path: /x, args: any, network: []}]", 1):                                          false,
		strings.Replace(head, "[]", "[{path: /x, args: any, network: [a:1]}]", 1) + "containment: {network: host}":      false,
		head + "containment: {require: off, deeper: report}":                                                            true,
		head + "containment: {deeper: quarantine, workspace: direct}":                                                   true,
		head + "containment: {deeper: ignore, workspace: overlay}":                                                      false,
		head + "containment: {deeper: never}":                                                                           false,
		strings.Replace(head, "[]", "[{path: /x, args: any, network: [a:1]}]", 1) + "containment: {network: allowlist}": true,
		strings.Replace(head, "[]", "[{path: /x, args: any, network: [A:1]}]", 1) + "containment: {network: allowlist}": false,
		strings.Replace(head, "[]", "[{path: /x, args: any, network: a:1}]", 1) + "containment: {network: allowlist}":   false,
		head + "limits: {disk: 1GiB, file_size: 5MiB}":                                                                  true,
		head + "limits: {disk: -1}":                                                                                     false,
		head + "limits: {memory: 1GiB, processes: 3, cpus: 0.5}":                                                        true,
		head + "limits: {cpus: 3}":                                                                                      true,
		head + "limits: {cpus: 0}":                                                                                      false,
		head + "limits: {cpus: two}":                                                                                    false,
		head + "limits: {processes: 1.5}":                                                                               false,
		head + "containment: {network: yes}":                                                                            false,
		head + "containment: {require: off, network: none}":                                                             false,
		head + "rules: [{name: a, deny: 'true', ask: 'true'}]":                                                          false,
		head + "rules: [{name: a}]":                                                                                     false,
		head + "rules: [{name: a b, deny: 'true'}]":                                                                     false,
		head + "tests: [{allow: [x], code: busy}]":                                                                      false,
		head + "tests: [{refuse: [x], code: nope}]":                                                                     false,
		head + "environment: {accept: {1A: <word>}}":                                                                    false,
		head + "secrets: {}":                                                                                            true,
		head + "redact: stored":                                                                                         true,
		head + "redact: never":                                                                                          false,
		"version: 1\nextends: a\nredact: stored":                                                                        false,
		head + "secrets: {A: {file: /a}}":                                                                               false,
		head + "secrets: {A: {file: /a, env_for: []}}":                                                                  false,
		head + "secrets: {A: {file: /a, inject: {host: a, header: X}}}":                                                 false,
		"version: 1\nroots: [{path: /srv}]\nexecutables: [{name: x, path: /x, args: any}]\nsecrets: {A: {file: /a, env_for: [x]}}":                                                             true,
		head + "secrets: {}\ncontainment: {network: allowlist}":                                                                                                                                true,
		"version: 1\nroots: [{path: /srv}]\nexecutables: [{path: /x, args: any, network: [a:443]}]\nsecrets: {A: {file: /a, inject: {host: a, header: X}}}\ncontainment: {network: allowlist}": true,
		head + "secrets: {A: {file: /a}}\ncontainment: {network: allowlist}":                                                                                                                   false,
		strings.Replace(head, "[]", "[{path: /x, args: any}]", 1):                                                                                                                              true,
		strings.Replace(head, "[]", "[{path: /x}]", 1):                                                                                                                                         false,
		strings.Replace(head, "[]", "[{path: x, args: any}]", 1):                                                                                                                               false,
		strings.Replace(head, "[]", "[{path: /x, args: []}]", 1):                                                                                                                               false,
		strings.Replace(head, "[]", "[{path: /x, args: all}]", 1):                                                                                                                              false,
		strings.Replace(head, "[]", "[{path: /x, name: a/b, args: any}]", 1):                                                                                                                   false,
		strings.Replace(head, "[]", "[{path: /x, args: [{allow: [], message: x}]}]", 1):                                                                                                        false,
		strings.Replace(head, "[]", "[{path: /x, args: [{deny: [], message: x}]}]", 1):                                                                                                         true,
		strings.Replace(head, "[]", "[{path: /x, args: [{allow: [], flags: {v: none}}]}]", 1):                                                                                                  false,
		strings.Replace(head, "[]", "[{path: /x, args: [{allow: [], flags: {--: none}}]}]", 1):                                                                                                 false,
		strings.Replace(head, "[]", "[{path: /x, args: [{allow: [], flags: {--a-b: none, -1: none}}]}]", 1):                                                                                    true,
	} {
		faults, verdict := both(t, s, []byte(text))
		if (faults == nil) != good || (verdict == nil) != good {
			t.Errorf("good is %v for\n%s\nreader: %v\nschema: %v", good, text, faults, verdict)
		}
	}
}

// A place within a text is a place in the file.
func TestWithin(t *testing.T) {
	text := `version: 1
roots: [{path: /}]
executables: []
rules:
  - {name: a, deny: plain words}
  - {name: b, deny: "quoted é words"}
  - name: c
    deny: |

      block

        deeper
  - name: d
    deny: >
      folded
      text
  - {name: e, deny: "esc\taped"}
  - name: f
    deny: over
      lines
`
	f, faults := Read("p.yaml", []byte(text))
	if faults != nil {
		t.Fatal(faults)
	}
	for _, test := range []struct {
		rule, line, column   int
		wantLine, wantColumn int
	}{
		{0, 1, 6, 5, 27}, {1, 1, 9, 6, 31}, {2, 2, 0, 10, 7}, {2, 4, 2, 12, 9},
		{3, 1, 3, 14, 11}, {4, 1, 4, 17, 21}, {5, 1, 6, 19, 11}, {0, 2, 0, 5, 21},
	} {
		p := f.Rules[test.rule].Expression.Within(test.line, test.column)
		if p.Line != test.wantLine || p.Column != test.wantColumn || p.File != "p.yaml" {
			t.Errorf("rule %d, %d:%d is at %d:%d, want %d:%d", test.rule, test.line, test.column, p.Line, p.Column, test.wantLine, test.wantColumn)
		}
	}
	if at := (Text{}).Within(1, 0); at.Line != 0 {
		t.Errorf("an absent text is at %+v", at)
	}
}

// A long line costs what as many short ones cost, and its places are right.
func TestLongLine(t *testing.T) {
	const items = 10_000
	item := "{name: ü, deny: 'é'}"
	read := func(before, between string) (File, time.Duration) {
		start := time.Now()
		f, faults := Read("p.yaml", []byte("version: 1\nroots: [{path: /}]\nexecutables: []\nrules: ["+strings.Repeat(before+item+","+between, items)+"]\n"))
		for _, fault := range faults {
			if !strings.Contains(fault.Message, "want a name") {
				t.Fatal(fault)
			}
		}
		return f, time.Since(start)
	}
	f, long := read("", "")
	_, short := read(" ", "\n")
	// What takes as the square is slow each time; a machine that does other things isn't.
	for try := 1; long > 10*short && try < 4; try++ {
		_, again := read("", "")
		long = min(long, again)
	}
	at := f.Rules[items-1].Expression.Within(1, 0)
	if want := len("rules: [") + (items-1)*utf8.RuneCountInString(item+",") + len("{name: x, deny: '") + 1; at.Line != 4 || at.Column != want {
		t.Errorf("the last rule is at %d:%d, want 4:%d", at.Line, at.Column, want)
	}
	if long > 10*short { // as the square it took a hundred times as long
		t.Errorf("reading one line took %v, and many %v", long, short)
	}
}

func TestUnits(t *testing.T) {
	for s, want := range map[string]int64{"1": 1, "4096": 4096, "64KiB": 65536, "10MiB": 10 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40, "7B": 7} {
		if got, err := unit.ParseSize(s); err != nil || got != want {
			t.Errorf("%s is %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "-1", "1.5MiB", "1 MiB", "1MB", "1mib", "MiB", "012", "9223372036854775808", "8388608TiB"} {
		if got, err := unit.ParseSize(s); err == nil {
			t.Errorf("%q is %d", s, got)
		}
	}
	for s, want := range map[string]string{"90s": "1m30s", "30d": "720h0m0s", "1d1h": "25h0m0s", "1.5h": "1h30m0s", "1ms": "1ms"} {
		if got, err := unit.ParseDuration(s); err != nil || got.String() != want {
			t.Errorf("%s is %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "5", "0s", "0d", "-1s", "+1s", "1us", "1h 1m", "d", "1d1d", "1w", "106752d", "9999999999999999999d", "53375d24h", "2562048h"} {
		if got, err := unit.ParseDuration(s); err == nil {
			t.Errorf("%q is %v", s, got)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"executables", "rules", "roots", "go", "limits"}
	for s, want := range map[string]string{
		"exectuables": "executables", "executable": "executables", "rule": "rules", "root": "roots", "g": "go", "og": "go", "limit": "limits", "lmits": "limits",
		"x": "", "xyz": "", "": "", "tests": "",
	} {
		if got := Nearest(s, words); got != want {
			t.Errorf("%q is near %q, want %q", s, got, want)
		}
	}
}

func TestTableHasWordsForPeople(t *testing.T) {
	var walk func(at string, s shape.Shape)
	walk = func(at string, s shape.Shape) {
		switch s := s.(type) {
		case shape.Object:
			for _, k := range s.Keys {
				if k.Doc == "" {
					t.Errorf("%s.%s isn't described", at, k.Name)
				}
				walk(at+"."+k.Name, k.Shape)
			}
		case shape.List:
			walk(at+"[]", s.Of)
		case shape.Either:
			walk(at, s.Other)
		case shape.Map:
			walk(at, s.Of)
		}
	}
	walk("", table.Policy)
}

func TestReadTests(t *testing.T) {
	tests, faults := ReadTests("t.yaml", []byte("version: 1\ntests:\n  - {allow: [go, 12], dir: /a}\n  - {refuse: [rm], code: busy}\n"))
	if len(faults) > 0 || len(tests) != 2 || !slices.Equal(tests[0].Argv, []string{"go", "12"}) || tests[0].At.Line != 3 || !tests[1].Refuse {
		t.Errorf("got %+v, %v", tests, faults)
	}
	for _, text := range []string{
		"", "version: 1\n", "tests: [{allow: [a]}]\n", "version: 1\ntests: []\n", "version: 1\ntests: [{}]\n", "version: 1\ntests: {allow: [a]}\n",
		"version: 1\ntests: [{allow: [a], refuse: [a]}]\n", "version: 1\ntests: [{allow: [a], code: busy}]\n", "version: 1\nroots: []\ntests: [{allow: [a]}]\n",
		"version: 1\ntests: [{allow: [a]}]\n---\nversion: 1\n", "version: 1\ntests: [{allow: [\xff]}]\n", "version: 1\ntests: &a [{allow: [a]}]\n",
	} {
		if _, faults := ReadTests("t.yaml", []byte(text)); len(faults) == 0 {
			t.Errorf("%q was taken", text)
		}
	}
}
