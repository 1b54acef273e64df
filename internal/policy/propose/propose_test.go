package propose_test

import (
	"fmt"
	"slices"
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
		Markers: []string{"go.mod", "package.json", "pnpm-lock.yaml", "yarn.lock", "Makefile", "Cargo.toml", "pyproject.toml", ".git", "mypy.ini", "pom.xml", "build.gradle", "CMakeLists.txt", "build.ninja"},
		Tools: map[string]string{
			"go": "/usr/local/go/bin/go", "gofmt": "/usr/local/go/bin/gofmt", "npm": "/usr/bin/npm", "pnpm": "/usr/bin/pnpm",
			"yarn": "/usr/bin/yarn", "make": "/usr/bin/make", "cargo": "/usr/bin/cargo", "pytest": "/usr/bin/pytest",
			"ruff": "/usr/bin/ruff", "git": "/usr/bin/git", "node": "/usr/bin/node",
			"mypy": "/usr/bin/mypy", "mvn": "/usr/bin/mvn", "gradle": "/usr/bin/gradle", "cmake": "/usr/bin/cmake", "ctest": "/usr/bin/ctest", "ninja": "/usr/bin/ninja",
		},
		Scripts:    []string{"test", "build", "lint:fix"},
		Targets:    []string{"build", "test"},
		GoModCache: "/home/dev/go/pkg/mod",
		CargoHome:  "/home/dev/.cargo", MavenRepository: "/home/dev/.m2/repository",
		Needs: map[string][]string{
			"go": {"/home/dev/go/pkg/mod/toolchain"}, "npm": {"/home/dev/node", "/home/dev/node/lib"}, "pytest": {"/srv/checkout/.venv"}, "git": {"/never"},
		},
		Levels: []paddock.Level{paddock.Full, paddock.Standard, paddock.Off},
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
			Levels:     []paddock.Level{loaded.Contain().Level},
		}
		if loaded.Contain().RunAs != "" {
			facts.Account = &paddock.Account{UID: 12345, GID: 12345}
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
	want := []string{"go", "gofmt", "npm", "pnpm", "yarn", "make", "cargo", "pytest", "ruff", "mypy", "mvn", "gradle", "cmake", "ctest", "ninja"}
	if got := p.Words(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("words are %v, want %v", got, want)
	}
	if len(p.Tests()) < 20 {
		t.Errorf("only %d tests", len(p.Tests()))
	}
}

// The strongest level that can be had is proposed, with what the tools need to see.
func TestProposeContainment(t *testing.T) {
	full := everything()
	standard, off, unknown := full, full, full
	standard.Levels, standard.Missing = full.Levels[1:], map[paddock.Level]string{paddock.Full: "user namespaces:\nthere are none " + strings.Repeat("long ", 40)}
	off.Levels, off.Missing = full.Levels[2:], map[paddock.Level]string{paddock.Full: "no namespaces", paddock.Standard: "no Landlock"}
	unknown.Levels = nil
	owned, stranger := standard, standard
	owned.RunAs, owned.Owns, stranger.RunAs = "12345:12345", true, "nobody"
	for _, test := range []struct {
		name       string
		project    propose.Project
		level      paddock.Level
		wants, not []string
	}{
		{"full", full, paddock.Full, []string{
			"network: none", "    - /home/dev/go/pkg/mod ", "    - /home/dev/node ", "GOPROXY: \"off\"", "go mod download", "CARGO_NET_OFFLINE", "CARGO_HOME: /home/dev/.cargo", "pass: [GOTOOLCHAIN]",
		}, []string{"/never", ".venv", "pkg/mod/toolchain", "node/lib", "can't be had"}},
		{"standard", standard, paddock.Standard, []string{"network: none", "# `full` can't be had: user namespaces: there are none", "can't hide", "/home/dev/node "}, nil},
		{"root, in somebody's directory", owned, paddock.Standard, []string{"run_as: \"12345:12345\" "}, []string{"chown"}},
		{"root, in its own", stranger, paddock.Standard, []string{"run_as: nobody", "chown -R"}, nil},
		{"off", off, paddock.Off, []string{"# `full` can't be had: no namespaces", "# `standard` can't be had: no Landlock", "with your rights", "pass: [GOPROXY, GOTOOLCHAIN]"},
			[]string{"network:", "read:", "GOPROXY: ", "OFFLINE"}},
		{"unknown", unknown, paddock.Off, []string{"nobody knows"}, nil},
	} {
		if p := check(t, test.project); p.Contain().Level != test.level {
			t.Errorf("%s: requires %s", test.name, p.Contain().Level)
		}
		text := string(propose.Propose(test.project))
		for _, want := range test.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", test.name, want, text)
			}
		}
		for _, not := range test.not {
			if strings.Contains(text, not) {
				t.Errorf("%s has %q:\n%s", test.name, not, text)
			}
		}
	}
}

// What is there and gets nothing is said, in the policy as well.
func TestUnserved(t *testing.T) {
	p := everything()
	if got := propose.Unserved(p); len(got) != 0 {
		t.Errorf("missing: %q", got)
	}
	for _, name := range []string{"pytest", "cargo", "ctest"} {
		delete(p.Tools, name)
	}
	p.Tools["ruff"] = "relative/ruff" // as good as not there
	want := []string{
		"Cargo.toml is there, but no cargo was found in PATH outside of the project",
		"pyproject.toml is there, but no pytest or ruff was found in PATH outside of the project",
	}
	if got := propose.Unserved(p); !slices.Equal(got, want) {
		t.Errorf("missing: %q", got)
	}
	check(t, p)
	if text := string(propose.Propose(p)); !strings.Contains(text, "\n  # "+want[0]+"\n") {
		t.Errorf("the policy doesn't say so:\n%s", text)
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
		dirs := rapid.SliceOfN(rapid.SampledFrom([]string{"/a", "/a/b", "/with: colon", "/new\nline", "relative", "/", "/x/../y", "/# hash", p.Root}), 0, 3)
		p.Needs = rapid.MapOfN(rapid.SampledFrom(names), dirs, 0, 4).Draw(t, "needs")
		p.CargoHome = rapid.SampledFrom([]string{"", "/c", "/: c", "c", "/\x00", "/"}).Draw(t, "cargo home")
		levels := []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}
		p.Levels = rapid.SliceOfDistinct(rapid.SampledFrom(levels), rapid.ID[paddock.Level]).Draw(t, "levels")
		p.Missing = rapid.MapOf(rapid.SampledFrom(levels), rapid.String()).Draw(t, "missing")
		p.RunAs, p.Owns = rapid.SampledFrom([]string{"", "builder", "12345", "12345:7", "yes", "a.b-c_d"}).Draw(t, "run as"), rapid.Bool().Draw(t, "owns")
		check(t, p)
	})
}
