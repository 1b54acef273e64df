package propose_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/propose"
)

func everything() propose.Project {
	return propose.Project{
		Root:    "/srv/checkout",
		Markers: []string{"go.mod", "package.json", "pnpm-lock.yaml", "yarn.lock", "Makefile", "Cargo.toml", "pyproject.toml", ".git"},
		Tools: map[string]string{
			"go": "/usr/local/go/bin/go", "gofmt": "/usr/local/go/bin/gofmt", "npm": "/usr/bin/npm", "pnpm": "/usr/bin/pnpm",
			"yarn": "/usr/bin/yarn", "make": "/usr/bin/make", "cargo": "/usr/bin/cargo", "pytest": "/usr/bin/pytest",
			"ruff": "/usr/bin/ruff", "git": "/usr/bin/git", "node": "/usr/bin/node",
		},
		Scripts:    []string{"test", "build", "lint:fix"},
		Targets:    []string{"build", "test"},
		GoModCache: "/home/dev/go/pkg/mod",
	}
}

// check loads a proposal and holds it to its own tests, with everything on the
// machine being as it should.
func check(t interface {
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, p propose.Project) *policy.Policy {
	text := propose.Propose(p)
	loaded, err := policy.Load("proposal.yaml", text)
	if err != nil {
		t.Fatalf("the proposal doesn't load:\n%v\n%s", err, text)
	}
	for _, test := range loaded.Tests() {
		req := paddock.Request{
			Principal: paddock.Principal{Kind: paddock.Operator, ID: "operator"},
			Door:      paddock.DoorCLI,
			Command:   paddock.Command{Argv: test.Argv, Dir: test.Dir},
		}
		facts := policy.Facts{
			Executable: policy.ExecutableFacts{Found: true},
			Dir:        policy.DirFacts{Found: true, Real: p.Root, Root: p.Root},
			Paths:      map[string]policy.PathFacts{},
			Levels:     []paddock.Level{paddock.Off},
		}
		for _, w := range loaded.Wanted(req).Paths {
			facts.Paths[w] = policy.PathFacts{Real: p.Root + "/" + w, Inside: true}
		}
		if problem := test.Problem(policy.Decide(loaded, req, facts)); problem != "" {
			t.Errorf("%v: %q: %s", test.Position, test.Argv, problem)
		}
	}
	return loaded
}

func TestProposeEverything(t *testing.T) {
	p := check(t, everything())
	want := []string{"go", "gofmt", "npm", "pnpm", "yarn", "make", "cargo", "pytest", "ruff"}
	if got := p.Words(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("words are %v, want %v", got, want)
	}
	if len(p.Tests()) < 20 {
		t.Errorf("only %d tests", len(p.Tests()))
	}
}

func TestProposeNothing(t *testing.T) {
	p := check(t, propose.Project{Root: "/"})
	if got := p.Words(); len(got) != 0 {
		t.Errorf("words are %v, want none", got)
	}
}

// A tool that can name another program to run must not be proposed with that.
func TestProposeNoEscape(t *testing.T) {
	text := string(propose.Propose(everything()))
	for _, bad := range []string{"\"...\"", "args: any", "name: node", "name: git\n"} {
		if strings.Contains(text, bad) {
			t.Errorf("the proposal contains %q", bad)
		}
	}
	for _, l := range strings.Split(text, "\n") {
		if strings.Contains(l, "allow:") && strings.Contains(l, "...]") {
			t.Errorf("an open rest is allowed: %s", l)
		}
	}
}

func TestProposeAlwaysLoads(t *testing.T) {
	all := everything()
	names := []string{"go", "gofmt", "npm", "pnpm", "yarn", "make", "cargo", "pytest", "ruff", "git"}
	odd := rapid.StringMatching(`[a-zA-Z0-9 ._:/{},"'#&*!|>%@-]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		p := propose.Project{
			Root:    "/" + strings.Trim(rapid.StringMatching(`[a-z0-9 '":#é{},&*-]{0,20}`).Draw(t, "root"), " "),
			Tools:   map[string]string{},
			Scripts: rapid.SliceOfN(rapid.OneOf(odd, rapid.SampledFrom(append(all.Scripts, "true", "null", "12", "0x1"))), 0, 4).Draw(t, "scripts"),
			Targets: rapid.SliceOfN(rapid.OneOf(odd, rapid.SampledFrom([]string{"all", "on", "off", "1", "y"})), 0, 4).Draw(t, "targets"),
			Markers: rapid.SliceOfDistinct(rapid.SampledFrom(all.Markers), rapid.ID[string]).Draw(t, "markers"),
		}
		for _, n := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, "tools") {
			p.Tools[n] = rapid.SampledFrom([]string{all.Tools[n], "/opt/with space/" + n, "relative/" + n, "/a/../" + n, "/tab\t/" + n}).Draw(t, "path")
		}
		if rapid.Bool().Draw(t, "cache") {
			p.GoModCache = rapid.SampledFrom([]string{"/go/pkg/mod", "/with: colon", "relative", "/new\nline"}).Draw(t, "modcache")
		}
		check(t, p)
	})
}
