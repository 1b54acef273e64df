package migrate_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/review/migrate"
)

func find(name string) string {
	if name == "gone" {
		return ""
	}
	return "/usr/bin/" + name
}

// judged is what the policy of an import says of a command.
func judged(t interface{ Fatalf(string, ...any) }, text []byte, argv []string) paddock.Effect {
	p, err := policy.Load("p.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Agent, ID: "a"}, Door: paddock.DoorMCP, Command: paddock.Command{Argv: argv}}
	facts := policy.Facts{
		Executable: policy.ExecutableFacts{Found: true}, Dir: policy.DirFacts{Found: true, Real: "/w", Root: "/w"},
		Stdin: policy.StdinFacts{Checked: true}, Levels: []paddock.Level{paddock.Full}, Home: "/h", Paths: map[string]policy.PathFacts{},
	}
	return policy.Decide(p, req, facts).Effect
}

func TestClaude(t *testing.T) {
	m, err := migrate.Claude([]byte(`{"model": "x", "permissions": {
		"allow": ["Bash(npm run test:*)", "Bash(npm run lint)", "Bash(git:*)", "Bash(make *)", "Read(./src/**)", "Bash(ls | wc)", "Bash(gone:*)", "Bash(rm:*)", "Bash(curl:*)"],
		"ask": ["Bash(git push:*)", "Bash(docker ps)", "Bash(docker rm:*)"],
		"deny": ["Bash(git reset --hard*)", "Bash(rm *)", "Bash(curl * | sh)", "WebFetch"],
		"defaultMode": "acceptEdits", "additionalDirectories": ["../x"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	text := m.Policy("/w", find)
	for command, want := range map[string]paddock.Effect{
		"npm run test": paddock.Allow, "npm run test -- x": paddock.Allow, "npm run tests": paddock.Deny, "npm run lint": paddock.Allow, "npm run lint x": paddock.Deny, "npm install": paddock.Deny,
		"git status": paddock.Allow, "git push": paddock.Ask, "git push origin": paddock.Ask, "git pushx": paddock.Ask, "git reset --hard": paddock.Deny, "git reset --hardly": paddock.Deny, "git reset": paddock.Allow,
		"docker ps": paddock.Ask, "docker ps -a": paddock.Deny, "docker rm": paddock.Ask, "docker rm x": paddock.Ask, "docker rmi": paddock.Deny, "docker": paddock.Deny,
		"make all": paddock.Allow, "make": paddock.Deny, "rm x": paddock.Deny, "curl x": paddock.Deny, "ls": paddock.Deny,
	} {
		if got := judged(t, text, strings.Fields(command)); got != want {
			t.Errorf("%s: %s, want %s\n%s", command, got, want, text)
		}
	}
	for _, want := range []string{
		"Read(./src/**) is left out: it isn't about commands", "allow Bash(ls | wc) is left out: it is a line for a shell", "gone is left out: no such program",
		"deny Bash(curl * | sh) can't be said here", "rm is left out", "WebFetch is left out", "defaultMode", "additionalDirectories", "whole words only", "allow Bash(make *) allows no flag", "until `approvals`",
	} {
		if !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no note says %q: %q", want, m.Notes)
		}
	}
	for _, bad := range []string{
		"", "[]", "{", `{"permissions": 1}`, "{} {}", "\xff", strings.Repeat(" ", 2<<20),
		`{"permissions": {"deny": ["Bash(rm:*)"], "deny": []}}`, `{"permissions": {"deny": []}, "Permissions": {}}`, strings.Repeat(`{"a":`, 20000),
	} {
		if _, err := migrate.Claude([]byte(bad)); err == nil {
			t.Errorf("%.40q was taken", bad)
		}
	}
	everything, err := migrate.Claude([]byte(`{"permissions": {"allow": ["Bash", "Bash(ls:*)"], "deny": ["Bash(* --force)"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if text := everything.Policy("/w", find); !strings.Contains(string(text), "executables: []") {
		t.Errorf("allowed in spite of what can't be said:\n%s", text)
	}
}

func TestCodex(t *testing.T) {
	m, err := migrate.Codex([]byte(`# rules
prefix_rule(
    pattern = ["git", ["status", "log"]],  # reading
    justification = "it's fine",
    match = [["git", "status"]],
)
prefix_rule(pattern=["git", "push"], decision="prompt", justification="Ask Ann: she knows.")
network_rule(host="api.example.com", protocol="https", decision="allow", justification="x")
prefix_rule(pattern=["git"]); prefix_rule(pattern=["git", "reset", "--hard"], decision="forbidden", justification='use "git stash" # instead')
prefix_rule(pattern=["make", "=x", "..."])
host_executable(name = 'make', paths = ["/opt/make"])
prefix_rule(pattern=["cc"]) host_executable(name="cc", paths=["/a", "/b"])
`))
	if err != nil {
		t.Fatal(err)
	}
	text := m.Policy("/w", find)
	for command, want := range map[string]paddock.Effect{
		"git status -s": paddock.Allow, "git push x": paddock.Ask, "git pushx": paddock.Allow, "git reset --hard x": paddock.Deny, "git reset --hardx": paddock.Allow, "make =x ...": paddock.Allow, "make x": paddock.Deny, "cc x": paddock.Deny,
	} {
		if got := judged(t, text, strings.Fields(command)); got != want {
			t.Errorf("%s: %s, want %s\n%s", command, got, want, text)
		}
	}
	for _, want := range []string{"path: /opt/make", "\n        message: \"use \\\"git stash\\\" # instead\"\n", "\n    message: \"Ask Ann: she knows.\"\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "it's fine") || !slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, `for "api.example.com", is left out`) }) {
		t.Errorf("%q\n%s", m.Notes, text)
	}
	for _, bad := range []string{
		"x", "prefix_rule", "prefix_rule(", "prefix_rule)", "prefix_rule(pattern=[)]", "prefix_rule(pattern=[\"a\n\"])", "def f(): pass", "if True: prefix_rule()", "prefix_rule() if x else x()", "x = prefix_rule(pattern=['a'], decision='forbidden')",
		"L = ['a']\nL += ['b']", "prefix_rule(pattern=['a'])(x)", "x.y()", "\xff", `prefix_rule(pattern=["a`, strings.Repeat("#", 2<<20), "prefix_rule(pattern=" + strings.Repeat("[", 10000),
	} {
		if _, err := migrate.Codex([]byte(bad)); err == nil {
			t.Errorf("%.60q was taken", bad)
		}
	}
}

// meant is what Claude Code does with a command, deny before ask before allow.
func meant(p map[string][]string, command string) string {
	for _, effect := range []string{"deny", "ask", "allow"} {
		for _, rule := range p[effect] {
			inner := strings.TrimSuffix(strings.TrimPrefix(rule, "Bash("), ")")
			inner = strings.TrimSuffix(inner, ":*") + map[bool]string{true: "*"}[strings.HasSuffix(inner, ":*")]
			re := strings.ReplaceAll(regexp.QuoteMeta(inner), `\*`, `(?s).*`)
			if regexp.MustCompile(`\A` + re + `\z`).MatchString(command) {
				return effect
			}
		}
	}
	return "ask"
}

// Nothing is allowed that the source wouldn't allow.
func TestNeverWider(t *testing.T) {
	words := rapid.SampledFrom([]string{"git", "push", "pushy", "log", "-f", "--force", "x"})
	rule := rapid.Custom(func(t *rapid.T) string {
		line := strings.Join(rapid.SliceOfN(words, 1, 3).Draw(t, "words"), " ")
		return "Bash(" + line + rapid.SampledFrom([]string{"", "", ":*", " *", "*", " * x", " | sh"}).Draw(t, "end") + ")"
	})
	rapid.Check(t, func(t *rapid.T) {
		p := map[string][]string{}
		for effect, n := range map[string]int{"allow": 4, "ask": 1, "deny": 2} {
			p[effect] = rapid.SliceOfN(rule, 0, n).Draw(t, effect)
		}
		data, err := json.Marshal(map[string]any{"permissions": p})
		if err != nil {
			t.Fatal(err)
		}
		m, err := migrate.Claude(data)
		if err != nil {
			t.Fatal(err)
		}
		text := m.Policy("/w", find)
		argv := rapid.SliceOfN(words, 1, 4).Draw(t, "argv")
		if judged(t, text, argv) == paddock.Allow && meant(p, strings.Join(argv, " ")) != "allow" {
			t.Fatalf("%q is allowed, and %s meant:\n%s\n%s", argv, meant(p, strings.Join(argv, " ")), data, text)
		}
	})
}

func FuzzImports(f *testing.F) {
	f.Add([]byte(`{"permissions": {"allow": ["Bash(a:*)"]}}`))
	f.Add([]byte(`prefix_rule(pattern=["a", ["b", "c"]], decision="prompt")`))
	f.Add([]byte(`prefix_rule(pattern=["a"]) prefix_rule(pattern=["a", "b"], decision="forbidden", justification="no: # \\ \t 'é'")`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func([]byte) (*migrate.Import, error){migrate.Claude, migrate.Codex} {
			if m, err := read(data); err == nil {
				if _, err := policy.Load("p.yaml", m.Policy("/w", find)); err != nil {
					t.Errorf("%q: %v", data, err)
				}
			}
		}
	})
}
