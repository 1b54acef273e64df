package cover_test

import (
	"slices"
	"testing"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/propose"
	"paddock/internal/review/cover"
)

const text = `version: 1
roots: [{path: /a}]
executables:
  - name: go
    path: /bin/go
    args: [{deny: [run, '...']}, {allow: [vet]}, {allow: [test]}]
  - {path: /bin/x, args: any}
  - {name: y, path: /bin/y, args: any}
rules:
  - {name: no-stdin, deny: stdin}
  - {name: no-test, deny: 'argv.size() > 1 && argv[1] == "test"'}
`

func TestCoverage(t *testing.T) {
	p, err := policy.Load("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cover.New("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	missed := func() []string {
		var out []string
		for _, m := range c.Missed() {
			out = append(out, m.At)
		}
		return out
	}
	everything := missed()
	for _, step := range []struct {
		argv    []string
		reaches []string
	}{
		{[]string{"rm"}, nil},
		{nil, nil},
		{[]string{"go", "clean"}, []string{"executables.go"}},
		{[]string{"go", "vet"}, []string{"executables.go.args.2"}},
		{[]string{"go", "run", "x"}, []string{"executables.go.args.1"}},
		{[]string{"go", "test"}, []string{"executables.go.args.3", "rules.no-test"}}, // allowed by its words, and refused
		{[]string{"/bin/x", "z"}, []string{"executables./bin/x"}},
	} {
		req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Operator, ID: "o"}, Door: paddock.DoorCLI, Command: paddock.Command{Argv: step.argv}}
		before := missed()
		c.Add(step.argv, policy.Decide(p, req, policy.Facts{
			Executable: policy.ExecutableFacts{Found: true}, Dir: policy.DirFacts{Found: true, Real: "/a", Root: "/a"},
			Levels: []paddock.Level{paddock.Full},
		}))
		var reached []string
		for _, at := range before {
			if !slices.Contains(missed(), at) {
				reached = append(reached, at)
			}
		}
		if !slices.Equal(reached, step.reaches) {
			t.Errorf("%q: reached %q, want %q", step.argv, reached, step.reaches)
		}
	}
	if want := []string{"executables.y", "rules.no-stdin"}; !slices.Equal(missed(), want) || c.Covered != len(everything)-len(want) {
		t.Errorf("missed %q, %d covered; want %q", missed(), c.Covered, want)
	}
	if _, err := cover.New("p.yaml", []byte("version: 2")); err == nil {
		t.Error("a broken policy was counted")
	}
}

// The tests of what policy init proposes reach all of it.
func TestProposalsAreCovered(t *testing.T) {
	tools := map[string]string{}
	for _, name := range []string{"go", "gofmt", "npm", "pnpm", "yarn", "make", "cargo", "pytest", "ruff", "mypy", "mvn", "gradle", "cmake", "ctest", "ninja"} {
		tools[name] = "/usr/bin/" + name
	}
	text := propose.Propose(propose.Project{
		Root: "/a", Tools: tools, Scripts: []string{"test", "build"}, Targets: []string{"all"}, Levels: []paddock.Level{paddock.Full},
		Markers: []string{"go.mod", "package.json", "pnpm-lock.yaml", "yarn.lock", "Makefile", "Cargo.toml", "pyproject.toml", "mypy.ini", "pom.xml", "build.gradle", "CMakeLists.txt", "build.ninja"},
	})
	p, err := policy.Load("p.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cover.New("p.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range p.Tests() {
		req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Operator, ID: "o"}, Door: paddock.DoorCLI, Command: paddock.Command{Argv: test.Argv}}
		facts := policy.Facts{
			Executable: policy.ExecutableFacts{Found: true}, Dir: policy.DirFacts{Found: true, Real: "/a", Root: "/a"},
			Levels: []paddock.Level{paddock.Full}, Paths: map[string]policy.PathFacts{},
		}
		for _, w := range p.Wanted(req).Paths {
			facts.Paths[w] = policy.PathFacts{Real: "/a/" + w, Inside: true}
		}
		c.Add(test.Argv, policy.Decide(p, req, facts))
	}
	for _, m := range c.Missed() {
		t.Errorf("no test reaches %s", m.At)
	}
}
