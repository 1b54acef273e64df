package lint_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"paddock/internal/review/lint"
	"paddock/internal/review/lint/escape/tools"
)

var update = flag.Bool("update", false, "write docs/lint.md anew instead of comparing it")

// found lists "ID at" of what lint finds in a policy that has the parts given.
func found(t *testing.T, facts lint.Facts, parts ...string) []string {
	t.Helper()
	list, err := lint.Lint("p.yaml", []byte(text(parts...)), facts)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range lint.Open(list) {
		if f.Position.Line == 0 || f.Message == "" || f.Fix == "" {
			t.Errorf("%+v has no place or no words", f)
		}
		out = append(out, f.ID+" "+f.At)
	}
	return out
}

func text(parts ...string) string {
	whole := "version: 1\n" + strings.Join(parts, "\n") + "\n"
	for _, key := range []struct{ name, text string }{
		{"roots", "roots: [{path: /data/checkout}]\n"}, {"executables", "executables: []\n"},
		{"tests", "tests: [{refuse: [rm], code: executable_not_allowed}]\n"},
	} {
		if !regexp.MustCompile(`(?m)^` + key.name + `:`).MatchString(whole) {
			whole += key.text
		}
	}
	return whole
}

func program(path string, args string) string {
	return fmt.Sprintf("executables:\n  - name: p\n    path: %s\n    args: %s\n", path, args)
}

const (
	aKey       = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	anotherKey = "ed25519:BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

func TestFindings(t *testing.T) {
	at := lint.Facts{File: "/data/checkout/p.yaml", Home: "/home/dev"}
	tests := []struct {
		name  string
		facts lint.Facts
		part  string
		want  []string
	}{
		{"nothing", lint.Facts{}, program("/usr/bin/uptime", "[{allow: []}]"), nil},
		{"a shell", lint.Facts{}, program("/bin/bash", "any"), []string{"L001 executables.p"}},
		{"what nobody knows", lint.Facts{}, program("/opt/frob", "any"), []string{"L002 executables.p"}},
		{"find with any words", lint.Facts{}, program("/usr/bin/find", "[{allow: [., ...]}]"), slices.Repeat([]string{"L003 executables.p"}, 3)},
		{"find with what is needed", lint.Facts{}, program("/usr/bin/find", "[{allow: [<path>], flags: {-name: <word>}}]"), nil},
		{"find without -exec", lint.Facts{}, program("/usr/bin/find", "[{deny: [<path>, '{-exec,-ok,-execdir,-okdir}', ...]}, {allow: [<path>], flags: {-exec: <word>, -name: <word>}}]"), []string{"L003 executables.p"}},
		{"a versioned interpreter", lint.Facts{}, program("/usr/bin/python3.12", "[{allow: [-m, pytest], rest: <path>...}]"), nil},
		{"a script of the caller's", lint.Facts{}, program("/usr/bin/python3.12", "[{allow: [<path>]}]"), []string{"L004 executables.p"}},
		{"a script of the operator's", lint.Facts{}, program("/usr/bin/python3", "[{allow: [tools/gen.py, <word>]}]"), nil},
		{"standard input", lint.Facts{}, program("/bin/sh", "[{allow: []}]"), []string{"L005 executables.p"}},
		{"code", lint.Facts{}, program("/usr/bin/perl", "[{allow: [-e, print]}]"), []string{"L003 executables.p"}},
		{"a wrapper", lint.Facts{}, program("/usr/bin/timeout", "[{allow: [<int>, make]}]"), nil},
		{"a wrapper of anything", lint.Facts{}, program("/usr/bin/timeout", "[{allow: [<int>, <word>...]}]"), []string{"L004 executables.p"}},
		{"git and its configuration", lint.Facts{}, program("/usr/bin/git", "[{allow: [-c, <word>, log]}]"), []string{"L003 executables.p"}},
		{"git as it is meant", lint.Facts{}, program("/usr/bin/git", "[{allow: ['{log,status}'], flags: {-n: <int>}}]"), nil},
		{"a shell behind a wrapper", lint.Facts{}, program("/usr/bin/env", "[{allow: [bash]}]"), []string{"L005 executables.p"}},
		{"code behind a wrapper", lint.Facts{}, program("/usr/bin/timeout", `[{allow: ["5", python3, -c, print]}]`), slices.Repeat([]string{"L003 executables.p"}, 2)}, // timeout's own -c would be one
		{"what another refuses", lint.Facts{}, program("/usr/bin/env", "[{deny: [bash, ...]}, {allow: [ls]}]"), []string{"L031 executables.p"}},
		{"a script of a choice behind a wrapper", lint.Facts{}, program("/usr/bin/nice", "[{allow: [-n, \"5\", python3, run.py]}]"), nil},
		{"an editor", lint.Facts{}, program("/usr/bin/vi", "any"), []string{"L001 executables.p"}},
		{"words from standard input", lint.Facts{}, program("/usr/bin/xargs", "[{allow: [rm]}]"), []string{"L003 executables.p"}},
		{"programs from standard input", lint.Facts{}, program("/usr/bin/parallel", "[{allow: []}]"), []string{"L005 executables.p"}},
		{"a shortened flag", lint.Facts{}, program("/usr/bin/git", "[{allow: [ls-remote, '--upload-pa=x']}]"), []string{"L003 executables.p"}},
		{"a compressor", lint.Facts{}, program("/usr/bin/sort", "[{allow: [], flags: {--compress-prog: <word>}}]"), []string{"L003 executables.p"}},
		{"a package runner", lint.Facts{}, program("/usr/bin/npm", "[{allow: [exec, left-pad]}]"), []string{"L003 executables.p"}},
		{"scripts of a package", lint.Facts{}, program("/usr/bin/npm", "[{allow: [run, <word>]}]"), []string{"L004 executables.p"}},
		{"a variable of make", lint.Facts{}, program("/usr/bin/make", "[{allow: [<word>]}]"), []string{"L004 executables.p"}},
		{"targets of make", lint.Facts{}, program("/usr/bin/make", "[{allow: ['{build,test}']}]"), nil},
		{"dead", lint.Facts{}, program("/opt/x", "[{allow: [a, <word>]}, {allow: [a, b]}]"), []string{"L030 executables.p"}},
		{"dead in two halves", lint.Facts{}, program("/opt/x", "[{allow: ['{a,b}', <word>]}, {allow: ['{c,d}', <word>]}, {allow: ['{b,c}', x]}]"), []string{"L030 executables.p"}},
		{"an idle denial", lint.Facts{}, program("/opt/x", "[{deny: [rm]}, {allow: [a]}]"), []string{"L031 executables.p"}},
		{"a denial with words", lint.Facts{}, program("/opt/x", "[{deny: [rm], message: use a}, {allow: [a]}]"), nil},
		{"a late denial", lint.Facts{}, program("/opt/x", "[{allow: [a, <word>]}, {deny: [a, '{b,-c}']}]"), []string{"L032 executables.p"}},
		{"an early denial", lint.Facts{}, program("/opt/x", "[{deny: [a, b]}, {allow: [a, <word>]}]"), nil},
		{"too hard", lint.Facts{}, program("/opt/x", `[{allow: ["<re:\\ba>"]}]`), []string{"L035 executables.p"}},
		{"missing", lint.Facts{Programs: map[string]lint.Program{"/opt/x": {Problem: "it isn't there"}}}, program("/opt/x", "[{allow: []}]"), []string{"L010 executables.p"}},
		{"a terminal", lint.Facts{}, program("/opt/x", "[{allow: []}]\n    pty: true"), []string{"L006 executables.p"}},
		{"somebody's", lint.Facts{Programs: map[string]lint.Program{"/opt/x": {}}}, program("/opt/x", "[{allow: []}]"), []string{"L012 executables.p"}},
		{"root's", lint.Facts{Programs: map[string]lint.Program{"/opt/x": {Root: true}}}, program("/opt/x", "[{allow: []}]"), nil},
		{"in a root", lint.Facts{}, program("/data/checkout/x", "[{allow: []}]"), []string{"L011 executables.p"}},
		{"beside a root", lint.Facts{}, program("/data/checkout2/x", "[{allow: []}]"), nil},
		{"the policy in a root", at, "", []string{"L020 roots./data/checkout"}},
		{"by a link", lint.Facts{File: "/real/p.yaml", Real: map[string]string{"/data/checkout": "/real"}}, "", []string{"L020 roots./data/checkout"}},
		{"a home", lint.Facts{Home: "/home/dev"}, "roots: [{path: /home/dev}]", []string{"L021 roots./home/dev"}},
		{"within the system", lint.Facts{}, "roots: [{path: /usr/share/x}]", []string{"L021 roots./usr/share/x"}},
		{"nested", lint.Facts{}, "roots: [{path: /a/b}, {path: /a/b/c}, {path: /a/bc}]", []string{"L022 roots./a/b/c"}},
		{"rules", lint.Facts{}, "rules: [{name: a, deny: '1 == 2'}, {name: b, deny: 'executable == \"gti\"'}, {name: c, deny: 'argv.size() > 3'}]", []string{"L033 rules.a", "L034 rules.b"}},
		{"passed on", lint.Facts{}, "environment: {pass: [LANG, GIT_DIR]}", []string{"L040 environment"}},
		{"set", lint.Facts{}, "environment: {set: {LD_PRELOAD: /x.so, NO_COLOR: 1}}", []string{"L042 environment"}},
		{"accepted", lint.Facts{}, "environment: {accept: {A: '<re:.*>', B: <word>, C: '<re:[a-z]+>'}}", []string{"L041 environment"}},
		{"off", lint.Facts{}, "containment: {require: off}", []string{"L050 limits", "L060 containment"}},
		{"off with limits", lint.Facts{}, "limits: {memory: 1GiB, processes: 9}\ncontainment: {require: off}", []string{"L060 containment"}},
		{"host", lint.Facts{}, "containment: {network: host}", []string{"L061 containment"}},
		{"a week", lint.Facts{}, "limits: {timeout: 7d}", []string{"L051 limits"}},
		{"a week, but not silent", lint.Facts{}, "limits: {timeout: 7d, idle: 1h}", nil},
		{"shown and writable", lint.Facts{Home: "/home/dev"}, "containment: {read: [/home/dev/.ssh, /run/docker.sock, /home/dev/go], write: [/etc/x, /home/dev]}",
			[]string{"L063 containment.read./home/dev/.ssh", "L063 containment.read./run/docker.sock", "L062 containment.write./etc/x", "L062 containment.write./home/dev", "L063 containment.write./home/dev"}},
		{"no tests", lint.Facts{}, "tests: []", []string{"L070 tests"}},
		{"a secret for one program", lint.Facts{}, program("/usr/bin/uptime", "[{allow: []}]") + "secrets: {A: {file: /run/a, env_for: [p]}}", nil},
		{"a secret for a shell", lint.Facts{}, program("/usr/bin/dash", "[{allow: [/x]}]") + "secrets: {A: {file: /run/a, env_for: [p]}}", []string{"L080 secrets.A"}},
		{"a secret for make", lint.Facts{}, program("/usr/bin/make", "[{allow: [all]}]") + "secrets: {A: {file: /run/a, env_for: [p]}}", []string{"L080 secrets.A"}},
		{"accepted secret", lint.Facts{}, program("/usr/bin/make", "[{allow: [all]}]") + "secrets: {A: {file: /run/a, env_for: [p]}}\naccept: [{id: L080, at: secrets.A, reason: make needs it}]", nil},
		{"a secret for nobody", lint.Facts{}, program("/usr/bin/uptime", "[{deny: [], message: no}]") + "secrets: {A: {file: /run/a, env_for: [p]}}", []string{"L082 secrets.A"}},
		{"a secret for agents that can't be", lint.Facts{}, "secrets: {A: {file: /run/a, env_for: [c]}}\ndelegates: {providers: {c: {path: /usr/bin/uptime}}}", []string{"L082 secrets.A"}},
		{"a secret for agents", lint.Facts{}, "secrets: {A: {file: /run/a, env_for: [c]}}\nlaunch: {agents: true}\ndelegates: {providers: {c: {path: /usr/bin/uptime}}}", nil},
		{"a provider", lint.Facts{}, program("/usr/bin/uptime", "[{allow: []}]") + "secrets: {A: {exec: [/opt/say], sha256: '" + strings.Repeat("a", 64) + "', env_for: [p]}}", nil},
		{"a provider that isn't pinned", lint.Facts{}, program("/usr/bin/uptime", "[{allow: []}]") + "secrets: {A: {exec: [/opt/say], env_for: [p]}}", []string{"L081 secrets.A"}},
		{"a shell as a provider", lint.Facts{}, program("/usr/bin/uptime", "[{allow: []}]") + "secrets: {A: {exec: [/bin/sh, /opt/say], env_for: [p]}}", []string{"L081 secrets.A", "L083 secrets.A"}},
		{"asks nobody", lint.Facts{}, "rules: [{name: r, ask: 'size(argv) > 1'}, {name: d, deny: 'size(argv) > 1'}]", []string{"L036 rules.r"}},
		{"asks somebody", lint.Facts{}, "rules: [{name: r, ask: 'size(argv) > 1'}]\napprovals: {keys: [{name: a, key: '" + aKey + "'}]}", nil},
		{"a factor without verifiers", lint.Facts{}, "rules: [{name: r, ask: 'size(argv) > 1', second_factor: true}]\napprovals: {keys: [{name: a, key: '" + aKey + "', account: anna}]}", []string{"L038 rules.r"}},
		{"a factor of nobody", lint.Facts{}, "rules: [{name: r, ask: 'size(argv) > 1', second_factor: true}]\napprovals: {keys: [{name: a, key: '" + aKey + "'}], verifiers: [{name: v, key: '" + anotherKey + "'}]}", []string{"L038 rules.r"}},
		{"a factor of somebody", lint.Facts{}, "rules: [{name: r, ask: 'size(argv) > 1', second_factor: true}]\napprovals: {keys: [{name: a, key: '" + aKey + "', account: anna}], verifiers: [{name: v, key: '" + anotherKey + "'}]}", nil},
		{"a factor of no one at all", lint.Facts{}, "rules: [{name: r, ask: 'size(argv) > 1', second_factor: true}]", []string{"L036 rules.r"}},
		{"asks who asks", lint.Facts{}, "rules: [{name: r, ask: 'size(argv) > 1'}]\napprovals: {keys: [{name: a, key: '" + aKey + "', principal: 'operator:uid=1'}]}", []string{"L037 approvals"}},
		{"a user without the word", lint.Facts{}, "principals: [{kind: user, id: alice, narrow: {limits: {concurrent: 1}}}, {id: 'user:bob', narrow: {limits: {concurrent: 1}}}]", []string{"L039 principals.alice"}},
		{"a user's id of an operator", lint.Facts{}, "principals: [{kind: operator, id: 'user:bob', narrow: {limits: {concurrent: 1}}}]", []string{"L039 principals.user:bob"}},
		{"anybody without a word", lint.Facts{}, "principals: [{id: '{alice,user:}', narrow: {limits: {concurrent: 1}}}, {id: '{alice,user:alice}', narrow: {limits: {concurrent: 1}}}]", []string{"L039 principals.alice"}},
		{"hosts and expressions", lint.Facts{}, "principals: [{kind: host, id: alice, narrow: {limits: {concurrent: 1}}}, {id: '<re:.*alice>', narrow: {limits: {concurrent: 1}}}]", nil},
		{"a key of nobody", lint.Facts{}, "approvals: {keys: [{name: a, key: '" + aKey + "', principal: anna}]}", []string{"L037 approvals", "L039 approvals.a"}},
		{"more in a day than in 24 hours", lint.Facts{}, "quotas: {principal: {runs_per_hour: 10, runs_per_day: 240}}", []string{"L052 quotas.principal.runs_per_day"}},
		{"more in an hour than in a day", lint.Facts{}, "quotas: {total: {runs_per_hour: 10, runs_per_day: 10}}", []string{"L052 quotas.total.runs_per_hour"}},
		{"quotas that bind", lint.Facts{}, "quotas: {principal: {runs_per_hour: 10, runs_per_day: 239, output_per_day: 10MiB}, total: {runs_per_hour: 11, kept: 1GiB}}", nil},
		{"more for one than for all", lint.Facts{}, "quotas: {principal: {runs_per_hour: 10}, total: {runs_per_hour: 10}}", []string{"L052 quotas.principal.runs_per_hour"}},
		{"less than a run", lint.Facts{}, "quotas: {principal: {output_per_day: 1MiB}, total: {kept: 2MiB}}", []string{"L053 quotas.principal.output_per_day", "L053 quotas.total.kept"}},
		{"accepted in vain", lint.Facts{}, "accept: [{id: L001, at: executables.p, reason: it is so}]", []string{"L090 accept"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, found(t, tc.facts, tc.part)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	whole := text(program("/bin/bash", "any"), "accept:\n  - {id: L001, at: executables.p, reason: only people use this}")
	list, err := lint.Lint("p.yaml", []byte(whole), lint.Facts{})
	if err != nil || len(list) != 1 || list[0].Accepted != "only people use this" || len(lint.Open(list)) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestBroken(t *testing.T) {
	for _, whole := range []string{"", "version: 1\n", "\xff", text("accept: [{id: X1, at: a, reason: b}]"), text("accept: [{id: L001, at: a}]"), text("accept: [{id: L001, id: L002, at: a, reason: b}]")} {
		if _, err := lint.Lint("p.yaml", []byte(whole), lint.Facts{}); err == nil {
			t.Errorf("%q was taken", whole)
		}
	}
}

// What an example shows is what the policy allows, and no policy is too odd.
func TestExamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := rapid.SampledFrom(tools.All()).Draw(t, "tool")
		tokens := []string{"<word>", "<path>", "<int>", "'<re:-.*>'", "'{a,-c,exec,run}'", "-m", "install"}
		words := rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 3).Draw(t, "words")
		rest := rapid.SampledFrom([]string{"", ", rest: <word>..."}).Draw(t, "rest")
		whole := text(program("/usr/bin/"+tool.Names[0], "[{allow: ["+strings.Join(words, ", ")+"]"+rest+"}]"))
		list, err := lint.Lint("p.yaml", []byte(whole), lint.Facts{})
		if err != nil {
			t.Fatalf("%v\n%s", err, whole)
		}
		for _, f := range list {
			if f.ID == "L035" {
				t.Fatalf("%+v\n%s", f, whole)
			}
			if f.Example != nil && !allows(whole, f.Example) {
				t.Fatalf("%+v isn't allowed by\n%s", f, whole)
			}
		}
	})
}

// A finding names what is started, and what it does is said in whole words.
func TestWhatIsSaid(t *testing.T) {
	t.Parallel()
	for want, policy := range map[string]string{
		"`p bash` allows `p bash`: it starts bash, which reads a program from standard input.": program("/usr/bin/env", "[{allow: [bash]}]"),
		"p takes any arguments, and is an editor: it ":                                         program("/usr/bin/vi", "any"),
	} {
		list, err := lint.Lint("p.yaml", []byte(text(policy)), lint.Facts{})
		if err != nil || !slices.ContainsFunc(list, func(f lint.Finding) bool { return strings.HasPrefix(f.Message, want) }) {
			t.Errorf("nothing says %q: %v %v", want, list, err)
		}
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, tool := range tools.All() {
		if tool.Source == "" || tool.Kind == "" || len(tool.Ways) == 0 {
			t.Errorf("%v lacks a part", tool.Names)
		}
		for _, n := range tool.Names {
			if seen[n] {
				t.Errorf("%s is in two rows", n)
			}
			if seen[n] = true; tools.Find("/usr/bin/"+n) == nil {
				t.Errorf("%s isn't found", n)
			}
		}
		for _, w := range tool.Ways {
			for _, e := range []string{w.First, w.Word} {
				regexp.MustCompile(e)
			}
			if w.Does == "" || w.Bare != (w.First == "" && w.Word == "") || w.Second && w.First == "" {
				t.Errorf("%v has a way that makes no sense: %+v", tool.Names, w)
			}
		}
	}
	for _, kind := range []string{"shell", "interpreter", "wrapper", "package runner", "editor", "pager", "archiver", "network tool"} {
		if !slices.ContainsFunc(tools.All(), func(t tools.Tool) bool { return t.Kind == kind }) {
			t.Errorf("no %s is known", kind)
		}
	}
	for file, want := range map[string]bool{"/usr/bin/python3.12": true, "/usr/bin/gcc-13": true, "/usr/bin/g++": true, "/x/GIT": true, "/usr/bin/gitk": false, "/usr/bin/3": false, "": false} {
		if got := tools.Find(file) != nil; got != want {
			t.Errorf("%q: found is %v", file, got)
		}
	}
}

// docs/lint.md lists every check and every tool.
func TestDoc(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`# What lint finds

<!-- Generated from the tables of package lint: go test ./internal/review/lint -run Doc -update -->

` + "`paddock policy lint`" + ` reads a policy for what it lets through without saying so. An id never
changes its meaning. A finding that is as it should be is accepted in the policy, with
the reason; an acceptance that accepts nothing any more is a finding itself:

` + "```yaml\naccept:\n  - {id: L004, at: executables.python3, reason: scripts of the checkout are what this agent works on}\n```" + `

What argument rules let through is asked of all commands at once, not of samples, and
comes with a command that they do allow. Rules in CEL and containment aren't counted in:
where they hold what a finding warns of, accept it and say so.

| id | finding | why it matters | what to do |
|---|---|---|---|
`)
	cell := strings.NewReplacer("|", "\\|", "\n", " ").Replace
	for _, c := range lint.Checks() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.ID, cell(c.Title), cell(c.Why), cell(c.Fix))
	}
	b.WriteString("\n## Tools that are known\n\nBy the name of the file, a version after it passed over. What isn't here isn't harmless, only unknown.\n\n| kind | tools | what they can do | source |\n|---|---|---|---|\n")
	for _, tool := range tools.All() {
		var does []string
		for _, w := range tool.Ways {
			if !slices.Contains(does, w.Does) {
				does = append(does, w.Does)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", tool.Kind, strings.Join(tool.Names, ", "), cell(strings.Join(does, "; ")), cell(tool.Source))
	}
	const file = "../../../docs/lint.md"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("docs/lint.md isn't what the code says; run go test ./internal/review/lint -run Doc -update\n%s", diff)
	}
}
