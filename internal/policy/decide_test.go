package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy"
)

// Each testdata/*.txtar holds a policy.yaml, a request.json (the command; the
// rest is an agent over MCP), optionally a facts.json laid over friendly facts,
// and the decision as people read it. -update writes the decisions anew.
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			part := func(name string) []byte {
				i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
				if i < 0 {
					return nil
				}
				return archive.Files[i].Data
			}
			p := load(t, string(part("policy.yaml")))
			req := ask()
			if err := json.Unmarshal(part("request.json"), &req); err != nil {
				t.Fatal(err)
			}
			facts := friendly(p, req)
			if over := part("facts.json"); over != nil {
				if err := json.Unmarshal(over, &facts); err != nil {
					t.Fatal(err)
				}
			}
			got := told(policy.Decide(p, req, facts))
			if *update {
				i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "decision" })
				if i < 0 {
					archive.Files = append(archive.Files, txtar.File{Name: "decision"})
					i = len(archive.Files) - 1
				}
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(part("decision")), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// told writes a decision out.
func told(d paddock.Decision) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", d.Effect)
	for g := range d.Gates.All() {
		fmt.Fprintf(&b, "%s %s%s: %s\n", g.Gate, g.Verdict, at(g.Position), g.Detail)
	}
	for _, r := range d.Refusals {
		fmt.Fprintf(&b, "\n%s at %s%s\n  %s\n  %s\n", r.Code, r.Gate, at(r.Position), r.Message, r.Hint)
		if s := r.Suggestion; s != nil {
			for _, a := range s.Argvs {
				fmt.Fprintf(&b, "  suggested: %q\n", a)
			}
			if s.Note != "" {
				fmt.Fprintf(&b, "  note: %s\n", s.Note)
			}
		}
	}
	if g := d.Grant(); g != nil {
		fmt.Fprintf(&b, "\n%q in %s of %s\n%s\n%v %d %d\n", g.Argv, g.Dir, g.Root, strings.Join(g.Environment, "\n"), g.Limits.Timeout, g.Limits.Output, g.Limits.OpenFiles)
	}
	return b.String()
}

func at(p *paddock.Position) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(" (%s:%d:%d)", p.File, p.Line, p.Column)
}

// The gates come in the order of the vocabulary, each once, whatever happens.
func TestGateOrder(t *testing.T) {
	p := load(t, minimal)
	hostile := ask("g\x00\xff", "\n")
	hostile.Principal, hostile.Command.Dir, hostile.Command.Timeout = paddock.Principal{}, "\x00", -1
	for _, req := range []paddock.Request{ask(), ask("go", "test"), ask("rm"), hostile} {
		for _, p := range []*policy.Policy{p, nil, {}} {
			var got []paddock.Gate
			for g := range policy.Decide(p, req, policy.Facts{}).Gates.All() {
				got = append(got, g.Gate)
			}
			if !slices.Equal(got, paddock.Gates()) {
				t.Errorf("%q: gates are %v", req.Command.Argv, got)
			}
		}
	}
}

// All reasons are collected, in the order of the gates.
func TestAllReasons(t *testing.T) {
	p := load(t, minimal)
	req := ask("go", "test", "-exec")
	req.Command.Env = map[string]string{"LD_PRELOAD": "x"}
	req.Command.Timeout = defaultTimeout * 2
	req.Command.Stdin.File = "x"
	d := policy.Decide(p, req, policy.Facts{Active: 100})
	var got []paddock.Code
	for _, r := range d.Refusals {
		got = append(got, r.Code)
	}
	want := []paddock.Code{
		paddock.ExecutableMissing, paddock.ArgumentsNotAllowed, paddock.CwdMissing, paddock.EnvironmentNotAllowed,
		paddock.StdinNotAllowed, paddock.LimitExceeded, paddock.ContainmentUnavailable, paddock.Busy,
	}
	if !slices.Equal(got, want) {
		t.Errorf("codes are %v, want %v", got, want)
	}
	if n := len(d.Refusal().Others); n != len(want)-1 {
		t.Errorf("the first refusal carries %d others", n)
	}
}

func TestZeroPolicyAllowsNothing(t *testing.T) {
	req := ask("go", "test")
	d := policy.Decide(&policy.Policy{}, req, policy.Facts{
		Executable: policy.ExecutableFacts{Found: true},
		Dir:        policy.DirFacts{Found: true, Real: "/srv", Root: "/srv"},
		Levels:     []paddock.Level{paddock.Full, paddock.Standard, paddock.Off},
	})
	if d.Effect != paddock.Deny || d.Grant() != nil {
		t.Errorf("got %+v", d)
	}
}

// Zero facts never allow, whatever the policy.
func TestZeroFactsAllowNothing(t *testing.T) {
	p := load(t, "version: 1\nroots: [{path: /}]\nexecutables: [{name: go, path: /bin/go, args: any}]\ncontainment: {require: off}\n")
	if d := policy.Decide(p, ask("go"), policy.Facts{}); d.Effect != paddock.Deny {
		t.Errorf("got %s", d.Effect)
	}
	if d := policy.Decide(p, ask("go", "x", "--y"), friendly(p, ask("go"))); d.Effect != paddock.Allow || d.Grant().Rule == nil {
		t.Errorf("args: any isn't any: %v", d.Refusal())
	}
}

const generous = `version: 1
roots: [{path: /srv/checkout}, {path: /srv/other}]
executables:
  - name: go
    path: /usr/local/go/bin/go
    args: any
    environment: {set: {GOFLAGS: -mod=readonly, LANG: C}, pass: [GOPROXY]}
  - {name: sh, path: /bin/sh, args: [{allow: [<path>]}]}
  - {name: ls, path: /bin/busybox, args: any}
  - {name: rm, path: /bin/busybox, args: any}
  - {path: /bin/cat, args: any}
environment:
  set: {NO_COLOR: 1}
  pass: [LANG, TZ]
  accept: {CI: <word>, OUT: <path>, GOOS: "{linux,darwin}"}
limits: {timeout: 1m, output: 1MiB, open_files: 64}
containment: {require: off}
`

func TestEnvironment(t *testing.T) {
	p := load(t, generous)
	req := ask("go")
	req.Command.Env = map[string]string{"CI": "1", "OUT": "out", "GOOS": "linux"}
	facts := friendly(p, req)
	facts.HostEnv = map[string]string{"LANG": "de_DE", "TZ": "UTC", "GOPROXY": "https://p", "SECRET": "s", "GOFLAGS": "-exec=x"}
	g := policy.Decide(p, req, facts).Grant()
	if g == nil {
		t.Fatalf("refused: %v", policy.Decide(p, req, facts).Refusal())
	}
	want := []string{
		"CI=1", "GOFLAGS=-mod=readonly", "GOOS=linux", "GOPROXY=https://p", "HOME=/var/lib/paddock/homes/h1", "LANG=C", "NO_COLOR=1", "OUT=out",
		"PATH=/usr/local/go/bin:/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin", "PWD=/srv/checkout", "TZ=UTC",
	}
	if diff := cmp.Diff(want, g.Environment); diff != "" {
		t.Error(diff)
	}
	if len(g.EnvironmentNames) != len(want) || g.EnvironmentNames[0] != "CI" {
		t.Errorf("names are %v", g.EnvironmentNames)
	}
	if w := p.Wanted(req); !slices.Equal(w.HostEnv, []string{"GOPROXY", "LANG", "TZ"}) || !slices.Equal(w.Paths, []string{"out"}) {
		t.Errorf("wanted %+v", w)
	}
	// What isn't there isn't made up.
	bare := policy.Decide(p, ask("ls"), policy.Facts{
		Executable: policy.ExecutableFacts{Found: true}, Dir: facts.Dir, Levels: facts.Levels,
	}).Grant()
	if want := []string{"NO_COLOR", "PATH", "PWD"}; !slices.Equal(bare.EnvironmentNames, want) {
		t.Errorf("names are %v, want %v", bare.EnvironmentNames, want)
	}
	// A replaced environment has nothing of ours.
	req.Door, req.Command.Env, req.Command.ReplaceEnv = paddock.DoorGo, nil, map[string]string{"A": "b", "LD_PRELOAD": "x"}
	if got := policy.Decide(p, req, facts).Grant().Environment; !slices.Equal(got, []string{"A=b", "LD_PRELOAD=x"}) {
		t.Errorf("environment is %v", got)
	}
	if text, err := json.Marshal(g); err != nil || strings.Contains(string(text), "https://p") {
		t.Errorf("a value is written down: %s %v", text, err)
	}
}

func TestWords(t *testing.T) {
	p := load(t, generous)
	if want := []string{"go", "sh", "ls", "rm", "/bin/cat"}; !slices.Equal(p.Words(), want) {
		t.Errorf("words are %v, want %v", p.Words(), want)
	}
	if want := []string{"/usr/local/go/bin/go", "/bin/cat"}; !slices.Contains(p.Executables(), want[0]) || !slices.Contains(p.Executables(), want[1]) {
		t.Errorf("executables are %v, want %v among them", p.Executables(), want)
	}
	for word, want := range map[string]string{
		"go": "/usr/local/go/bin/go", "/usr/local/go/bin/go": "/usr/local/go/bin/go", "/bin/cat": "/bin/cat", "ls": "/bin/busybox",
		"/bin/busybox": "", "cat": "", "/bin/../bin/cat": "", "go ": "",
	} {
		if got := p.Wanted(ask(word)).Executable; got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
	if p.Retention() != (paddock.Retention{}) {
		t.Errorf("a policy that doesn't say so keeps %+v", p.Retention())
	}
	if p.Name() != "policy.yaml" || !strings.HasPrefix(string(p.Digest()), "sha256:") || p.Concurrent() != 8 || p.Contain().Level != paddock.Off {
		t.Errorf("got %s %s %d %s", p.Name(), p.Digest(), p.Concurrent(), p.Contain().Level)
	}
	if w := (*policy.Policy)(nil).Wanted(ask("go")); w.Executable != "" {
		t.Errorf("no policy wants %+v", w)
	}
}

func TestLimitsLowered(t *testing.T) {
	p := load(t, generous)
	req := ask("go")
	req.Command.Timeout, req.Command.OutputLimit = 1, 1
	g := policy.Decide(p, req, friendly(p, req)).Grant()
	if g == nil || g.Limits != (paddock.Limits{Timeout: 1, Output: 1, OpenFiles: 64}) {
		t.Errorf("got %+v", g)
	}
}

func TestStdinAccepted(t *testing.T) {
	p := load(t, generous)
	empty := ""
	for detail, s := range map[string]paddock.Stdin{
		"text": {Text: &empty}, "a file": {File: "x"}, "a run's output": {Run: "r0000000000000000000000000a", Stream: paddock.Stderr}, "empty": {},
		"what was kept of a run's output; 7 bytes weren't": {Run: "r0000000000000000000000000a"},
	} {
		req := ask("go")
		req.Command.Stdin = s
		f := friendly(p, req)
		if strings.Contains(detail, "7 bytes") {
			f.Stdin.Lost = 7
		}
		d := policy.Decide(p, req, f)
		if d.Effect != paddock.Allow || slices.Collect(d.Gates.All())[slices.Index(paddock.Gates(), paddock.GateStdin)].Detail != detail {
			t.Errorf("%s: %v", detail, d.Refusal())
		}
	}
}

// What reaches a caller never holds a host's value, whatever the request.
func TestTestsOfAPolicy(t *testing.T) {
	p := load(t, minimal+`tests:
  - allow: [go, test]
  - {refuse: [go, run], code: arguments_not_allowed}
  - {refuse: [go, run], code: busy, dir: /srv/checkout}
  - {refuse: [go, test]}
  - allow: [rm]
`)
	var got []string
	for _, c := range p.Tests() {
		req := ask(c.Argv...)
		got = append(got, c.Problem(policy.Decide(p, req, friendly(p, req))))
	}
	for i, want := range []string{"", "", "want it refused with busy", "want it refused, but it is allowed", "want it allowed, but it is refused: executable_not_allowed"} {
		if !strings.HasPrefix(got[i], want) || want == "" && got[i] != "" {
			t.Errorf("test %d: %q, want %q", i, got[i], want)
		}
	}
	if c := p.Tests()[2]; c.Dir != "/srv/checkout" || c.Position.Line != 18 || !c.Refuse {
		t.Errorf("got %+v", c)
	}
}

// drawn makes a request out of parts that matter.
func drawn(t *rapid.T) paddock.Request {
	words := []string{"go", "test", "vet", "run", "./...", "-v", "-run", "x", "-count=1", "--", "sh", "/etc/passwd", "", "a\x00", "a\nb", "\xff", "..", "&&"}
	req := ask(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "argv")...)
	req.Command.Timeout = paddock.Duration(rapid.Int64Range(-1, int64(defaultTimeout)+1).Draw(t, "timeout"))
	req.Command.OutputLimit = rapid.Int64Range(-1, 11<<20).Draw(t, "output")
	req.Door = rapid.SampledFrom([]paddock.Door{paddock.DoorCLI, paddock.DoorMCP, paddock.DoorGo}).Draw(t, "door")
	env := rapid.MapOfN(rapid.SampledFrom([]string{"CI", "LD_PRELOAD", "X_TOKEN", "PATH", "OUT", "A=B"}), rapid.SampledFrom([]string{"1", "-x", "/etc", "\x00"}), 0, 3)
	req.Command.Env = env.Draw(t, "env")
	if rapid.Bool().Draw(t, "replace") {
		req.Command.ReplaceEnv = env.Draw(t, "replaced")
	}
	return req
}

func drawnFacts(t *rapid.T, p *policy.Policy, req paddock.Request) policy.Facts {
	f := friendly(p, req)
	f.Active = rapid.IntRange(0, 9).Draw(t, "active")
	f.Executable.Found = rapid.IntRange(0, 9).Draw(t, "found") > 0
	for w, facts := range f.Paths {
		facts.Inside = rapid.Bool().Draw(t, "inside "+w)
		f.Paths[w] = facts
	}
	f.HostEnv = map[string]string{"LANG": "C", "TZ": "UTC", "HOST_TOKEN": "t", "GOPROXY": "p"}
	return f
}

func TestDecideProperties(t *testing.T) {
	policies := []string{minimal, paths, ruled, generous}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(policies).Draw(t, "policy")
		p := load(quiet{t}, text)
		req := drawn(t)
		facts := drawnFacts(t, p, req)
		d := policy.Decide(p, req, facts)
		if again := policy.Decide(load(quiet{t}, text), req, facts); !cmp.Equal(d, again) {
			t.Fatalf("deciding again differs:\n%s", cmp.Diff(d, again))
		}
		if (d.Effect == paddock.Allow) != (d.Grant() != nil) || (d.Effect == paddock.Allow) != (len(d.Refusals) == 0) {
			t.Fatalf("effect %s, grant %v, refusals %v", d.Effect, d.Grant(), d.Refusals)
		}
		for _, r := range d.Refusals {
			if r.Code == "" || r.Message == "" || r.Hint == "" || r.Gate == "" || strings.ContainsAny(r.Message+r.Hint, "\x00\n\uFFFD") {
				t.Fatalf("a refusal isn't whole: %+v", r)
			}
		}
		if d.Grant() != nil {
			granted(t, req, d.Grant())
		}
		// A further denial never turns deny into allow.
		stricter := load(quiet{t}, withDenial(text, rapid.SampledFrom([]string{"true", "argv.size() > 1", "argv[9] == ''", "stdin"}).Draw(t, "rule")))
		if s := policy.Decide(stricter, req, facts); s.Effect == paddock.Allow && d.Effect != paddock.Allow {
			t.Fatalf("a denial allows")
		}
		denied := load(quiet{t}, strings.Replace(text, "    args:\n", "    args:\n      - deny: [test, ...]\n", 1))
		if s := policy.Decide(denied, req, facts); s.Effect == paddock.Allow && d.Effect != paddock.Allow {
			t.Fatalf("an argument denial allows")
		}
	})
}

func withDenial(text, expression string) string {
	r := "  - {name: added, deny: \"" + expression + "\"}\n"
	if strings.Contains(text, "rules:\n") {
		return strings.Replace(text, "rules:\n", "rules:\n"+r, 1)
	}
	return text + "rules:\n" + r
}

// granted holds a grant to what was asked.
func granted(t *rapid.T, req paddock.Request, g *paddock.Grant) {
	c := req.Command
	if g.Limits.Timeout <= 0 || g.Limits.Output <= 0 || c.Timeout > 0 && g.Limits.Timeout != c.Timeout || c.OutputLimit > 0 && g.Limits.Output != c.OutputLimit {
		t.Fatalf("limits %+v for %+v", g.Limits, c)
	}
	if !slices.Equal(g.Argv, c.Argv) {
		t.Fatalf("argv is %q", g.Argv)
	}
	for _, v := range g.Environment {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case c.ReplaceEnv != nil && c.ReplaceEnv[name] != value,
			strings.HasSuffix(name, "_TOKEN"),
			c.ReplaceEnv == nil && !slices.Contains([]string{"CI", "OUT", "PATH", "HOME", "PWD", "LANG", "TZ", "GOPROXY", "GOFLAGS", "NO_COLOR"}, name):
			t.Fatalf("the environment has %s", v)
		}
	}
}

// quiet lets load be used within a property.
type quiet struct{ *rapid.T }

func (quiet) Helper() {}

// The first rule that matches decides, whether or not it begins with a literal.
func TestFirstRuleWins(t *testing.T) {
	const first, later = "- allow: [<word>, x]", "- deny: [a, ...]"
	for _, test := range []struct {
		rules [2]string
		want  paddock.Effect
	}{{[2]string{first, later}, paddock.Allow}, {[2]string{later, first}, paddock.Deny}} {
		p := load(t, exe("args:", "  "+test.rules[0], "  "+test.rules[1])+"containment: {require: off}\n")
		req := ask("/bin/x", "a", "x")
		if d := policy.Decide(p, req, friendly(p, req)); d.Effect != test.want {
			t.Errorf("%q: %s", test.rules, d.Effect)
		}
	}
}
