package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy"
)

const team = `version: 1
roots: [{path: /srv/a}, {path: /srv/b}]
executables:
  - name: go
    path: /bin/go
    args: [{allow: [test], flags: {-v: none, -run: <word>}, rest: <package>...}, {allow: [vet, ./...]}]
    environment: {set: {GOFLAGS: -mod=readonly}, pass: [GOPROXY]}
    limits: {timeout: 10m}
  - {name: make, path: /bin/make, args: any}
environment: {pass: [LANG, TZ], accept: {CI: <word>, N: <int>}}
limits: {timeout: 5m, output: 1MiB, concurrent: 4}
containment: {require: standard, network: host, read: [/opt/x, /opt/y], write: [/var/cache]}
`

// extended loads a policy that narrows team by what more says.
func extended(t failer, more string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("/p/own.yaml", []byte("version: 1\nextends: team.yaml\n"+more+"\n"), policy.Source{Name: "/p/team.yaml", Data: []byte(team)})
	if err != nil {
		t.Fatalf("%v\n%s", err, more)
	}
	return p
}

func facts(p *policy.Policy, req paddock.Request) policy.Facts {
	f := friendly(p, req)
	f.Levels, f.Held = []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}, []string{"memory", "processes", "cpus", "disk"}
	f.HostEnv = map[string]string{"LANG": "C", "TZ": "UTC", "GOPROXY": "off"}
	return f
}

func judged(p *policy.Policy, argv ...string) paddock.Decision {
	req := ask(argv...)
	return policy.Decide(p, req, facts(p, req))
}

func TestExtends(t *testing.T) {
	t.Run("nothing", func(t *testing.T) {
		g := judged(extended(t, ""), "go", "test", "-v", "./...").Grant()
		if g == nil || g.Root != "/srv/a" || !slices.Equal(g.EnvironmentNames, []string{"GOFLAGS", "GOPROXY", "HOME", "LANG", "PATH", "PWD", "TZ"}) || g.Limits.Output != 1<<20 {
			t.Errorf("granted %+v", g)
		}
	})
	t.Run("roots", func(t *testing.T) {
		p := extended(t, "roots: [{path: /srv/b/sub}, {path: /srv}, {path: /elsewhere}]")
		if got := p.Roots(); !slices.Equal(got, []string{"/srv/b/sub", "/srv/a", "/srv/b"}) {
			t.Errorf("roots %v", got)
		}
	})
	t.Run("arguments", func(t *testing.T) {
		p := extended(t, "executables: [{name: go, path: /bin/go, args: [{deny: [test, -run, ...], message: no}, {allow: [test], flags: {-v: none}, rest: <package>...}]}]")
		if d := judged(p, "go", "test", "-v", "."); d.Effect != paddock.Allow {
			t.Errorf("refused: %v", d.Refusal())
		}
		d := judged(p, "go", "vet", "./...")
		if r := d.Refusal(); r == nil || r.Code != paddock.ArgumentsNotAllowed || r.Position.File != "/p/own.yaml" {
			t.Errorf("refusal %+v", r)
		}
		if d := judged(p, "go", "run"); len(d.Refusals) != 2 { // both say why
			t.Errorf("refusals %v", d.Refusals)
		}
		r := judged(p, "make").Refusal()
		if r == nil || r.Code != paddock.ExecutableNotAllowed || !strings.Contains(r.Message, "/p/own.yaml, which narrows it") || r.Position.Line != 3 {
			t.Errorf("refusal %+v", r)
		}
	})
	t.Run("another file", func(t *testing.T) {
		r := judged(extended(t, "executables: [{name: go, path: /opt/go, args: any}]"), "go", "test").Refusal()
		if r == nil || r.Code != paddock.ExecutableNotAllowed || !strings.Contains(r.Message, "/opt/go") {
			t.Errorf("refusal %+v", r)
		}
	})
	t.Run("variables", func(t *testing.T) {
		p := extended(t, "environment: {pass: [TZ], accept: {CI: '<re:t.*>'}}")
		g := judged(p, "go", "test").Grant()
		if g == nil || !slices.Equal(g.EnvironmentNames, []string{"GOFLAGS", "HOME", "PATH", "PWD", "TZ"}) {
			t.Errorf("granted %+v", g)
		}
		for value, want := range map[string]paddock.Effect{"true": paddock.Allow, "yes": paddock.Deny} {
			req := ask("go", "test")
			req.Command.Env = map[string]string{"CI": value}
			if d := policy.Decide(p, req, facts(p, req)); d.Effect != want {
				t.Errorf("CI=%s: %v", value, d.Refusals)
			}
		}
	})
	t.Run("limits", func(t *testing.T) {
		p := extended(t, "limits: {timeout: 7m, memory: 1GiB, idle: 1m, concurrent: 9}")
		g := judged(p, "go", "test").Grant()
		if g == nil || g.Limits.Timeout.String() != "7m0s" || g.Limits.Memory != 1<<30 || g.Limits.MemoryByDefault || g.Limits.Idle.String() != "1m0s" || g.Limits.Output != 1<<20 || p.Concurrent() != 4 {
			t.Errorf("granted %+v", g)
		}
		if g := judged(p, "make").Grant(); g == nil || g.Limits.Timeout.String() != "5m0s" {
			t.Errorf("granted %+v", g)
		}
	})
	t.Run("containment", func(t *testing.T) {
		as := extended(t, "containment: {require: full, network: none, read: [/opt, /var/cache/x], write: [/]}").Contain()
		if as.Level != paddock.Full || as.Network != "none" || !slices.Equal(as.Write, []string{"/var/cache"}) || !slices.Equal(as.Read, []string{"/opt/x", "/opt/y", "/var/cache/x"}) {
			t.Errorf("contained %+v", as)
		}
		if as := extended(t, "containment: {require: off}").Contain(); as.Level != paddock.Standard {
			t.Errorf("contained %+v", as)
		}
	})
	t.Run("rules", func(t *testing.T) {
		p := extended(t, `rules: [{name: r, deny: '"-v" in argv'}]`)
		if r := judged(p, "go", "test", "-v").Refusal(); r == nil || r.Code != paddock.RuleDenied || r.Position.File != "/p/own.yaml" {
			t.Errorf("refusal %+v", r)
		}
	})
}

// What can't be narrower, or can't be together, is a fault of the file that says it.
func TestExtendsFaults(t *testing.T) {
	base := policy.Source{Name: "/p/team.yaml", Data: []byte(team)}
	for _, c := range []struct{ text, want string }{
		{"extends: team.yaml\nroots: [{path: /elsewhere}]", "/p/own.yaml:3:1: none of these lies inside"},
		{"extends: team.yaml\nsecrets: {}", "own.yaml:3:1: `secrets` can't be narrower"},
		{"extends: team.yaml\nenvironment: {set: {GOFLAGS: x}}", "own.yaml:3:20: a variable's value"},
		{"extends: team.yaml\ncontainment: {run_as: alice}", "`run_as: alice` is neither narrower nor wider"},
		{"extends: other.yaml", "own.yaml:2:10: /p/team.yaml can't be extended: it isn't the file"},
		{"extends: team.yaml\nlimits: {timeout: x}", "own.yaml:3:19: want"},
		{"extends: team.yaml\nprincipals: [{kind: agent, narrow: {roots: [{path: /elsewhere}]}}]", "own.yaml:3:37: none of these"},
		{"extends: team.yaml\nprincipals: [{id: <words>, narrow: {}}]", "unknown token `<words>`"},
	} {
		_, err := policy.Load("/p/own.yaml", []byte("version: 1\n"+c.text+"\n"), base)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	_, err := policy.Load("/p/own.yaml", []byte("version: 1\nextends: team.yaml\n"))
	if err == nil || !strings.Contains(err.Error(), "2:10: the file that this one extends wasn't read here") {
		t.Errorf("%v", err)
	}
	_, err = policy.Load("/p/own.yaml", []byte("version: 1\nextends: team.yaml\n"), policy.Source{Name: "/p/team.yaml", Data: []byte("version: 1\nroots: 7\nexecutables: []\n")})
	if err == nil || !strings.Contains(err.Error(), "/p/team.yaml:2:8: want a list") {
		t.Errorf("%v", err)
	}
	off := policy.Source{Name: "/p/team.yaml", Data: []byte("version: 1\nroots: [{path: /a}]\nexecutables: []\ncontainment: {require: off}\n")}
	_, err = policy.Load("/p/own.yaml", []byte("version: 1\nextends: team.yaml\ncontainment: {network: none}\n"), off)
	if err == nil || !strings.Contains(err.Error(), "own.yaml:3:1: the policy that this narrows contains nothing") {
		t.Errorf("%v", err)
	}
}

func TestFloor(t *testing.T) {
	floor := func(text string) policy.Source {
		return policy.Source{Name: "/etc/paddock/floor.yaml", Data: []byte("version: 1\n" + text + "\n"), Floor: true}
	}
	p, err := policy.Load("/p/team.yaml", []byte(team), floor(`rules: [{name: no-make, deny: executable == "make", message: not here}]
limits: {timeout: 1m}
containment: {require: full}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := judged(p, "go", "test"); d.Effect != paddock.Allow || d.Grant().Limits.Timeout.String() != "1m0s" || d.Grant().Contain.Level != paddock.Full {
		t.Errorf("decided %+v", d)
	}
	if r := judged(p, "make").Refusal(); r == nil || r.Message != "not here" || r.Position.File != "/etc/paddock/floor.yaml" {
		t.Errorf("refusal %+v", r)
	}
	if said, _ := judged(p, "go").Gates.Of(paddock.GatePolicy); !strings.Contains(said.Detail, "held to /etc/paddock/floor.yaml") {
		t.Errorf("explained as %q", said.Detail)
	}
	for _, text := range []string{"tests: []", "extends: a", "git: {executable: /x}", "environment: {set: {A: b}}", "roots: [{path: /a, narrow: {}}]"} {
		if _, err := policy.Load("/p/team.yaml", []byte(team), floor(text)); err == nil || !strings.Contains(err.Error(), "/etc/paddock/floor.yaml:2") {
			t.Errorf("%s: %v", text, err)
		}
		if err := policy.CheckFloor("f", []byte("version: 1\n"+text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
	if _, err := policy.Load("/p/team.yaml", []byte(team), policy.Source{Name: "/f", Floor: true, Problem: "it is broken"}); err == nil || !strings.Contains(err.Error(), "/f:1:1: the floor of this machine can't be used: it is broken") {
		t.Errorf("%v", err)
	}
}

// The digest is of all files together, and of the one file where there is only one.
func TestBundle(t *testing.T) {
	alone := load(t, minimal)
	if string(alone.Text()) != minimal {
		t.Error("the text isn't the file's")
	}
	a, b := extended(t, "limits: {timeout: 1m}"), extended(t, "limits: {timeout: 2m}")
	if a.Digest() == b.Digest() || !strings.Contains(string(a.Text()), team) || !strings.Contains(string(a.Text()), `"/p/team.yaml"`) {
		t.Errorf("text %s", a.Text())
	}
	if !slices.Equal(a.Files(), []string{"/p/own.yaml", "/p/team.yaml"}) {
		t.Errorf("files %v", a.Files())
	}
}

const sometimes = `version: 1
roots: [{path: /srv/a}, {path: /srv/b, narrow: {limits: {timeout: 30s}, containment: {require: full}}}]
principals:
  - {kind: agent, narrow: {rules: [{name: no-push, deny: '"push" in argv'}]}}
  - {id: '<re:night.*>', narrow: {roots: [{path: /srv/b}], executables: [{name: git, path: /bin/git, args: [{allow: [<path>]}]}], limits: {concurrent: 1}}}
executables: [{name: git, path: /bin/git, args: any}, {name: go, path: /bin/go, args: any}]
git: {executable: /bin/git}
containment: {require: standard}
`

func TestSometimes(t *testing.T) {
	p := load(t, sometimes)
	decide := func(who paddock.Principal, root, room string, argv ...string) paddock.Decision {
		req := ask(argv...)
		req.Principal, req.Room = who, room
		of := p.For(room)
		f := facts(of, req)
		f.Dir = policy.DirFacts{Found: true, Real: root, Root: root}
		return policy.Decide(of, req, f)
	}
	operator, agent := paddock.Principal{Kind: paddock.Operator, ID: "me"}, paddock.Principal{Kind: paddock.Agent, ID: "day"}
	night := paddock.Principal{Kind: paddock.Agent, ID: "night-1"}
	for _, c := range []struct {
		who  paddock.Principal
		root string
		argv []string
		code paddock.Code
	}{
		{operator, "/srv/a", []string{"git", "push"}, ""},
		{agent, "/srv/a", []string{"git", "push"}, paddock.RuleDenied},
		{agent, "/srv/b", []string{"git", "pull"}, ""},
		{night, "/srv/b", []string{"git", "x"}, ""},
		{night, "/srv/b", []string{"git", "-x"}, paddock.ArgumentsNotAllowed},
		{night, "/srv/b", []string{"go"}, paddock.ExecutableNotAllowed},
		{night, "/srv/a", []string{"git", "x"}, paddock.CwdOutsideRoot},
	} {
		d := decide(c.who, c.root, "", c.argv...)
		if r := d.Refusal(); (r == nil) != (c.code == "") || r != nil && r.Code != c.code {
			t.Errorf("%v in %s for %s: %v, want %q", c.argv, c.root, c.who.ID, r, c.code)
		}
	}
	if g := decide(operator, "/srv/a", "", "go").Grant(); g.Limits.Timeout != defaultTimeout || g.Contain.Level != paddock.Standard {
		t.Errorf("granted %+v", g)
	}
	if g := decide(operator, "/srv/b", "", "go").Grant(); g.Limits.Timeout.String() != "30s" || g.Contain.Level != paddock.Full {
		t.Errorf("granted %+v", g)
	}
	if got := p.Applied(night, "/srv/b").Concurrent(); got != 1 {
		t.Errorf("concurrent %d", got)
	}
	// The git tools are narrowed as well, but for the list of programs.
	if g := decide(night, "/srv/b", "git", "git", "status").Grant(); g == nil || g.Contain.Level != paddock.Full || g.Contain.Network != "none" || g.Limits.Timeout.String() != "30s" {
		t.Errorf("granted %+v", g)
	}
	if r := decide(agent, "/srv/b", "git", "git", "push").Refusal(); r == nil || r.Code != paddock.RuleDenied {
		t.Errorf("refusal %v", r)
	}
}

// Parts that can't hold at once refuse everything that both hold for.
func TestContradiction(t *testing.T) {
	p := load(t, `version: 1
roots: [{path: /a}, {path: /b}]
executables: [{name: x, path: /x, args: any}]
principals:
  - {kind: agent, narrow: {roots: [{path: /a}]}}
  - {id: <word>, narrow: {roots: [{path: /b}]}}
containment: {require: off}
`)
	req := ask("x")
	f := friendly(p, req)
	if r := policy.Decide(p, req, f).Refusal(); r == nil || r.Code != paddock.PolicyInvalid || !strings.Contains(r.Message, "can't be together") {
		t.Errorf("refusal %v", r)
	}
}

// drawnPart is some part that narrows team.
func drawnPart(t *rapid.T) string {
	some := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	programs := ""
	for _, one := range []string{"name: go, path: /bin/go", "name: make, path: /bin/make", "name: other, path: /bin/other", "path: /bin/go"} {
		if rapid.Bool().Draw(t, one) {
			programs += "{" + one + ", args: " + some("args", "any", "[{allow: [test]}]", "[{deny: [test, -v]}, {allow: ['...']}]", "[{allow: [<path>, '...']}]", "[{allow: ['{vet,test}', '...']}]") +
				some("more", "", ", max_args: 2", ", limits: {timeout: 1m}", ", limits: {timeout: 20m, output: 1KiB}", ", environment: {pass: [GOPROXY]}", ", line_breaks: true", ", pty: true", ", sha256: "+strings.Repeat("a", 64)) + "}, "
		}
	}
	parts := []string{
		some("roots", "", "", "roots: [{path: /srv/a/x}, {path: /srv/b}]", "roots: [{path: /}]", "roots: [{path: /srv/b}, {path: /new}]"),
		some("executables", "", "executables: ["+programs+"]"),
		some("rules", "", "rules: [{name: r, deny: 'argv.size() > 3'}]", "rules: [{name: r, ask: '\"-v\" in argv'}]"),
		some("environment", "", "environment: {pass: []}", "environment: {pass: [TZ, NEW]}", "environment: {accept: {CI: <int>, NEW: <word>}}"),
		some("limits", "", "limits: {timeout: 1m}", "limits: {timeout: 1h, output: 1GiB, memory: 1TiB}", "limits: {idle: 1m, disk: 1MiB, concurrent: 100}"),
		some("containment", "", "containment: {}", "containment: {require: off}", "containment: {require: full, network: none}", "containment: {require: standard, read: [/], write: [/]}", "containment: {network: allowlist}", "containment: {workspace: overlay, read: [/opt/x/y]}"),
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

// What a narrowed policy allows, the policy allows, and grants no less.
func TestNarrowingNeverWidens(t *testing.T) {
	whole := load(t, team)
	rapid.Check(t, func(t *rapid.T) {
		part := drawnPart(t)
		source := policy.Source{Name: "/p/team.yaml", Data: []byte(team)}
		narrow, err := policy.Load("/p/own.yaml", []byte("version: 1\nextends: team.yaml\n"+part+"\n"), source)
		if err != nil {
			return // what can't be together allows nothing
		}
		argv := append([]string{rapid.SampledFrom([]string{"go", "make", "other", "/bin/go", "/bin/make"}).Draw(t, "word")},
			rapid.SliceOfN(rapid.SampledFrom([]string{"test", "vet", "./...", "-v", "-run", "x", "a\nb", "."}), 0, 4).Draw(t, "args")...)
		req := ask(argv...)
		if rapid.Bool().Draw(t, "env") {
			req.Command.Env = map[string]string{rapid.SampledFrom([]string{"CI", "N", "NEW"}).Draw(t, "name"): rapid.SampledFrom([]string{"1", "x"}).Draw(t, "value")}
		}
		req.Command.Timeout = paddock.Duration(rapid.SampledFrom([]int64{0, 30e9, 300e9, 3000e9}).Draw(t, "timeout"))
		f := facts(narrow, req)
		f.Active = rapid.IntRange(0, 5).Draw(t, "active")
		f.Executable.Digest = paddock.Digest(rapid.SampledFrom([]string{"", "sha256:" + strings.Repeat("a", 64)}).Draw(t, "digest"))
		is := policy.Decide(narrow, req, f)
		if is.Effect != paddock.Allow {
			return
		}
		// The root is one of the narrower policy's, and lies in one of the wider's.
		i := slices.IndexFunc(whole.Roots(), func(r string) bool { return f.Dir.Root == r || strings.HasPrefix(f.Dir.Root, r+"/") })
		if i < 0 {
			t.Fatalf("the root %s is nowhere in %v", f.Dir.Root, whole.Roots())
		}
		f.Dir.Root = whole.Roots()[i]
		was := policy.Decide(whole, req, f)
		if was.Effect != paddock.Allow {
			t.Fatalf("%v is allowed by the narrower, and not by the wider: %v\n%s", argv, was.Refusal(), part)
		}
		narrower(t, was.Grant(), is.Grant())
	})
}

func narrower(t *rapid.T, was, is *paddock.Grant) {
	var wrong []string
	say := func(ok bool, what string) {
		if !ok {
			wrong = append(wrong, what)
		}
	}
	for _, v := range is.Environment {
		say(slices.Contains(was.Environment, v) || strings.HasPrefix(v, "ALL_PROXY=") || strings.Contains(strings.ToUpper(v), "_PROXY="), v)
	}
	say(is.Limits.Timeout <= was.Limits.Timeout, "timeout")
	say(is.Limits.Output <= was.Limits.Output, "output")
	say(is.Limits.Memory <= was.Limits.Memory && (was.Limits.MemoryByDefault || !is.Limits.MemoryByDefault), "memory")
	say(was.Limits.Idle == 0 || is.Limits.Idle > 0 && is.Limits.Idle <= was.Limits.Idle, "idle")
	order := []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}
	say(slices.Index(order, is.Contain.Level) <= slices.Index(order, was.Contain.Level), "level")
	nets := []string{"none", "allowlist", "host"}
	say(slices.Index(nets, is.Contain.Network) <= slices.Index(nets, was.Contain.Network), "network")
	inside := func(p string, dirs []string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return p == d || strings.HasPrefix(p, d+"/") })
	}
	for _, p := range is.Contain.Write {
		say(inside(p, was.Contain.Write), "write "+p)
	}
	for _, p := range is.Contain.Read {
		say(inside(p, slices.Concat(was.Contain.Read, was.Contain.Write)), "read "+p)
	}
	say(was.Executable.Path == is.Executable.Path, "path")
	if wrong != nil {
		t.Fatalf("wider in %v:\n%s\n%s", wrong, fmt.Sprintf("%+v", was), fmt.Sprintf("%+v", is))
	}
}
