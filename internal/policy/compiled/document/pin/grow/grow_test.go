package grow_test

import (
	"slices"
	"strings"
	"testing"

	"paddock/internal/policy/compiled/document/pin/grow"
)

func TestWrite(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{"lines", `version: 1
roots: [{path: /a}] # here
executables:
  # the compiler
  - name: go
    path: /bin/go
    args:
      - allow: [test]
        flags: {-v: none} # loud
      # last
    limits: {timeout: 1m}

# the end
limits: {timeout: 2m}
`, `version: 1
roots: [{path: /a}] # here
executables:
  # the compiler
  - name: go
    path: /bin/go
    args:
      - allow: [test]
        flags: {-v: none} # loud
      - allow: [vet]
      - allow: [env, "<x>"]
      # last
    limits: {timeout: 1m}
  - name: make
    path: /bin/make
    args:
      - allow: [all]

# the end
limits: {timeout: 2m}
`},
		{"brackets", `version: 1
roots: [{path: /a}]
executables: [{name: go, path: /bin/go, args: [{allow: ["]", it's, 'it''s ]']}, {allow: [a]}]}] # ]
`, `version: 1
roots: [{path: /a}]
executables: [{name: go, path: /bin/go, args: [{allow: ["]", it's, 'it''s ]']}, {allow: [a]}, {allow: [vet]}, {allow: [env, "<x>"]}]}, {name: make, path: /bin/make, args: [{allow: [all]}]}] # ]
`},
		{"mixed", `version: 1
executables:
- {name: go, path: /bin/go, args: [{allow: [a]},
    {allow: [b]}, # b
  ]}
roots: [{path: /a}]`, `version: 1
executables:
- {name: go, path: /bin/go, args: [{allow: [a]},
    {allow: [b]}, # b{allow: [vet]}, {allow: [env, "<x>"]}
  ]}
`},
		{"no line end", "version: 1\nroots: [{path: /a}]\nexecutables:\n- name: go\n  path: /bin/go\n  args:\n  - allow: [a]",
			"version: 1\nroots: [{path: /a}]\nexecutables:\n- name: go\n  path: /bin/go\n  args:\n  - allow: [a]\n  - allow: [vet]\n  - allow: [env, \"<x>\"]\n- name: make\n  path: /bin/make\n  args:\n    - allow: [all]"},
		{"line ends of another system", "version: 1\r\nroots: [{path: /a}]\r\nexecutables:\r\n- name: go\r\n  path: /bin/go\r\n  args:\r\n  - allow: [a]\r\n",
			"version: 1\r\nroots: [{path: /a}]\r\nexecutables:\r\n- name: go\r\n  path: /bin/go\r\n  args:\r\n  - allow: [a]\r\n  - allow: [vet]\r\n  - allow: [env, \"<x>\"]\r\n- name: make\r\n  path: /bin/make\r\n  args:\r\n    - allow: [all]\r\n"},
	} {
		added := []grow.Program{
			{Word: "go", Rules: []string{"{allow: [vet]}", `{allow: [env, "<x>"]}`}}, {Word: "make", Path: "/bin/make", Rules: []string{"{allow: [all]}"}},
		}
		got, err := grow.Write([]byte(c.before), added)
		slices.Reverse(added)
		if other, oerr := grow.Write([]byte(c.before), added); string(other) != string(got) || (err == nil) != (oerr == nil) {
			t.Errorf("%s: in the other order: %v\n%s", c.name, oerr, other)
		}
		if c.name == "mixed" { // behind a comment nothing can stand: it gives up
			if err == nil {
				t.Errorf("%s: wrote\n%s", c.name, got)
			}
			continue
		}
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%s", c.name, err, got)
		}
	}
	empty := "version: 1\nroots: [{path: /a}]\nexecutables: [] # none\n"
	got, err := grow.Write([]byte(empty), []grow.Program{{Word: "a", Path: "/a", Rules: []string{"{allow: []}"}}, {Word: "b", Path: "/b", Rules: []string{"{allow: []}"}}})
	if want := strings.Replace(empty, "[]", "[{name: a, path: /a, args: [{allow: []}]}, {name: b, path: /b, args: [{allow: []}]}]", 1); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	for _, bad := range []grow.Program{{Word: "none"}, {Word: "go", Rules: []string{"{allow: [}"}}, {Word: "x", Path: "", Rules: []string{"{allow: []}"}}, {Word: "go", Rules: []string{"{allow: [a]}]}, {name: b, path: /b, args: [{allow: [c]}"}}, {Word: "any", Rules: []string{"{allow: []}"}}} {
		if got, err := grow.Write([]byte("version: 1\nroots: [{path: /a}]\nexecutables: [{name: go, path: /bin/go, args: [{allow: [a]}]}, {name: any, path: /x, args: any}]\n"), []grow.Program{bad}); err == nil {
			t.Errorf("%+v: wrote\n%s", bad, got)
		}
	}
}
