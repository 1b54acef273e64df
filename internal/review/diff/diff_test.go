package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/review/diff"
)

func whole(parts string) string {
	text := "version: 1\n" + parts + "\n"
	for _, key := range []struct{ name, text string }{{"roots", "roots: [{path: /a}]\n"}, {"executables", "executables: []\n"}} {
		if !strings.Contains("\n"+text, "\n"+key.name+":") {
			text += key.text
		}
	}
	return text
}

func compare(t interface{ Fatalf(string, ...any) }, before, after string) diff.Changes {
	c, err := diff.Compare(diff.Source{Name: "old.yaml", Data: []byte(before)}, diff.Source{Name: "new.yaml", Data: []byte(after)})
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, before, after)
	}
	return c
}

func program(more string) string { return "executables: [{name: go, path: /bin/go, " + more + "}]" }

func agents(launch, providers string) string {
	return "launch: {agents: " + launch + "}\ndelegates: {providers: {" + providers + "}}"
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                []string
	}{
		{"nothing", program("args: any"), program("args: any"), nil},
		{"a program", "", program("args: [{allow: [vet]}]"), []string{"widened executables.go: go vet"}},
		{"none", program("args: any"), "", []string{"narrowed executables.go"}},
		{"a path", program("args: any"), "executables: [{name: go, path: /bin/gone, args: any}]", []string{"widened executables.go", "widened executables.go: /bin/gone", "narrowed executables.go"}},
		{"any words", program("args: [{allow: [vet]}]"), program("args: any"), []string{"widened executables.go.args: go"}},
		{"a rule each way", program("args: [{allow: [vet]}, {allow: [a]}]"), program("args: [{allow: [vet]}, {allow: [b]}]"),
			[]string{"widened executables.go.args: go b", "narrowed executables.go.args: go a"}},
		{"the same in other words", program("args: [{allow: ['{a,b}']}]"), program("args: [{allow: [a]}, {allow: [b]}]"), []string{"changed executables.go.args"}},
		{"a path that leads outside", program("args: [{allow: [<path>]}]"), program("args: [{allow: [<word>]}]"),
			[]string{"widened executables.go.args: go x (x outside)", "narrowed executables.go.args: go /"}},
		{"a message", program("args: [{deny: [a], message: x}, {allow: ['...']}]"), program("args: [{deny: [a], message: y}, {allow: ['...']}]"), nil},
		{"what isn't compared", program(`args: [{allow: ["<re:\\ba>"]}]`), program(`args: [{allow: ["<re:\\bb>"]}]`), []string{"unclear executables.go.args"}},
		{"what isn't compared and is the same", program(`args: [{allow: ["<re:\\ba>"]}]`), program(`args: [{allow: ["<re:\\ba>"]}]`), nil},
		{"a rule stands in the way", "rules: [{name: n, deny: 'true'}]\n" + program("args: [{allow: [a]}]"), "rules: [{name: n, deny: 'true'}]\n" + program("args: [{allow: ['{a,b}']}]"), []string{"unclear executables.go.args: go b"}},
		{"a rule gone", "rules: [{name: n, deny: 'stdin'}]", "", []string{"unclear rules.n"}},
		{"a rule new", "", "rules: [{name: n, deny: 'stdin'}]", []string{"narrowed rules.n"}},
		{"a rule's name", "rules: [{name: n, deny: 'stdin'}]", "rules: [{name: m, deny: 'stdin', message: x}]", nil},
		{"a rule asks", "rules: [{name: n, deny: 'stdin'}]", "rules: [{name: n, ask: 'stdin'}]", []string{"unclear rules.n"}},
		{"a second factor less", "rules: [{name: n, ask: 'stdin', second_factor: true}]", "rules: [{name: n, ask: 'stdin'}]", []string{"widened rules.n"}},
		{"a second factor more", "rules: [{name: n, ask: 'stdin'}]", "rules: [{name: n, ask: 'stdin', second_factor: true}]", []string{"narrowed rules.n"}},
		{"a second factor in place of a denial", "rules: [{name: n, deny: 'stdin'}]", "rules: [{name: n, ask: 'stdin', second_factor: true}]", []string{"unclear rules.n"}},
		{"a rule denies", "rules: [{name: n, ask: 'stdin'}]", "rules: [{name: n, deny: 'stdin'}]", []string{"narrowed rules.n"}},
		{"a pin gone", program("args: any, sha256: " + strings.Repeat("a", 64)), program("args: any"), []string{"widened executables.go"}},
		{"a pin", program("args: any"), program("args: any, sha256: " + strings.Repeat("a", 64)), []string{"narrowed executables.go"}},
		{"roots", "roots: [{path: /a}]", "roots: [{path: /a}, {path: /a/b}, {path: /ab}]", []string{"widened roots", "changed roots"}},
		{"the first root", "roots: [{path: /a}, {path: /b}]", "roots: [{path: /b}, {path: /a}]", []string{"unclear roots"}},
		{"a limit", "limits: {timeout: 1m, output: 2MiB}", "limits: {timeout: 2m, output: 1MiB}", []string{"widened limits.timeout", "narrowed limits.output"}},
		{"a limit gone", "limits: {idle: 1m, cpus: 2}", "", []string{"widened limits.cpus", "widened limits.idle"}},
		{"a default is no demand", "limits: {memory: 2GiB}", "", []string{"widened limits.memory"}},
		{"of one program", program("args: any, limits: {timeout: 1m}"), program("args: any, limits: {timeout: 2m}"), []string{"widened executables.go.limits.timeout"}},
		{"longer words", program("args: any"), program("args: any, max_args: 9, max_arg_bytes: 9000, line_breaks: true"),
			[]string{"widened executables.go.line_breaks", "widened executables.go.max_arg_bytes", "narrowed executables.go.max_args"}},
		{"a terminal", program("args: any"), program("args: any, pty: true"), []string{"widened executables.go.pty"}},
		{"no terminal", program("args: any, pty: true"), program("args: any"), []string{"narrowed executables.go.pty"}},
		{"containment", "", "containment: {require: standard, network: host, read: [/x]}", []string{"widened containment.network", "widened containment.read", "widened containment.require"}},
		{"held more", "containment: {network: host, write: [/x]}", "containment: {read: [/x/y]}", []string{"narrowed containment.network", "narrowed containment.read", "narrowed containment.write", "changed containment.read"}},
		{"hosts", program("args: any, network: ['*.x.org:1', 'y.org:2']") + "\ncontainment: {network: allowlist}", program("args: any, network: ['a.x.org:1', 'y.org:3']") + "\ncontainment: {network: allowlist}",
			[]string{"widened executables.go.network", "narrowed executables.go.network", "narrowed executables.go.network"}},
		{"looked for less", "containment: {deeper: quarantine}", "containment: {deeper: report}", []string{"widened containment.deeper"}},
		{"looked for not at all", "", "containment: {deeper: ignore}", []string{"widened containment.deeper"}},
		{"looked for more", "containment: {deeper: ignore}", "containment: {deeper: report}", []string{"narrowed containment.deeper"}},
		{"kept apart", "containment: {workspace: overlay}", "containment: {exec: listed}", []string{"widened containment.workspace", "narrowed containment.exec"}},
		{"executed beside", "containment: {exec: listed, exec_also: [/x]}", "containment: {exec: listed, exec_also: [/y]}", []string{"widened containment.exec_also", "narrowed containment.exec_also"}},
		{"anything executed", "containment: {exec: listed}", "", []string{"widened containment.exec"}},
		{"bytes written", "limits: {disk: 1GiB, file_size: 1MiB}", "limits: {disk: 2GiB}", []string{"widened limits.disk", "widened limits.file_size"}},
		{"git tools", "", "git: {executable: /usr/bin/git}", []string{"widened git"}},
		{"other git tools", "git: {executable: /usr/bin/git}", "git: {executable: /opt/git, sha256: " + strings.Repeat("a", 64) + ", roots: [.]}", []string{"widened git.executable", "unclear git.sha256"}},
		{"agents", "", agents("true", "w: {path: /w}"), []string{"widened delegates.providers.w"}},
		{"agents that may not be started", "", agents("false", "w: {path: /w}"), nil},
		{"another agent", agents("true", "w: {path: /w}, x: {path: /x}"), agents("true", "w: {path: /w, args: [-y]}"), []string{"widened delegates.providers.w", "narrowed delegates.providers.x"}},
		{"an agent with other limits", agents("true", "w: {path: /w}"), agents("true", "w: {path: /w, limits: {timeout: 1m}}"), []string{"unclear delegates.providers.w"}},
		{"a repository above", "git: {executable: /usr/bin/git}", "git: {executable: /usr/bin/git, repositories: [/]}", []string{"widened git.repositories"}},
		{"no repository above", "git: {executable: /usr/bin/git, repositories: [..]}", "git: {executable: /usr/bin/git}", []string{"narrowed git.repositories"}},
		{"no git tools", "git: {executable: /usr/bin/git}", "", []string{"narrowed git"}},
		{"a reserve", "", "limits: {reserve: 2GiB}", []string{"narrowed limits.reserve"}},
		{"a small reserve", "", "limits: {reserve: 1MiB}", []string{"unclear limits.reserve"}},
		{"more of a reserve", "limits: {reserve: 1MiB}", "limits: {reserve: 2MiB}", []string{"narrowed limits.reserve"}},
		{"less of a reserve", "limits: {reserve: 2MiB}", "limits: {reserve: 1MiB}", []string{"widened limits.reserve"}},
		{"a reserve gone", "limits: {reserve: 2MiB}", "", []string{"unclear limits.reserve"}},
		{"quotas", "", "quotas: {principal: {runs_per_hour: 1}, total: {kept: 1MiB}}", []string{"narrowed quotas.principal.runs_per_hour", "narrowed quotas.total.kept"}},
		{"other quotas", "quotas: {principal: {runs_per_day: 2, output_per_day: 2KiB, cpu_per_day: 1h}}", "quotas: {principal: {runs_per_day: 3, output_per_day: 1KiB}}",
			[]string{"widened quotas.principal.cpu_per_day", "widened quotas.principal.runs_per_day", "narrowed quotas.principal.output_per_day"}},
		{"kept for less", "retention: {age: 30d}", "retention: {age: 3d}", []string{"changed retention"}},
		{"an account", "", "containment: {run_as: a}", []string{"unclear containment.run_as"}},
		{"variables", "environment: {pass: [A], set: {B: 1, GOFLAGS: a}}", "environment: {pass: [C], set: {B: 2, GOFLAGS: b}}",
			[]string{"widened environment.pass", "unclear environment.set", "narrowed environment.pass", "changed environment.set"}},
		{"accepted", "environment: {accept: {A: <int>, B: <path>, C: a}}", "environment: {accept: {A: <word>, B: <word>, D: a}}",
			[]string{"widened environment.accept.A", "widened environment.accept.B", "widened environment.accept.D", "narrowed environment.accept.A", "narrowed environment.accept.B", "narrowed environment.accept.C"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, c := range compare(t, whole(tc.before), whole(tc.after)) {
				line := string(c.Effect) + " " + c.At
				if c.Example != nil {
					line += ": " + strings.Join(c.Example, " ")
				}
				if c.Outside != nil {
					line += " (" + strings.Join(c.Outside, " ") + " outside)"
				}
				if got = append(got, line); c.Position.Line == 0 || c.Position.File == "" || c.Message == "" {
					t.Errorf("%+v has no place or no words", c)
				}
			}
			slices.SortStableFunc(got, func(a, b string) int {
				order := []string{"w", "u", "n", "c"}
				if d := slices.Index(order, a[:1]) - slices.Index(order, b[:1]); d != 0 {
					return d
				}
				return strings.Compare(a, b)
			})
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	good := diff.Source{Name: "good.yaml", Data: []byte(whole(""))}
	for _, text := range []string{"", "\xff", "version: 1\nversion: 1\n"} {
		bad := diff.Source{Name: "bad.yaml", Data: []byte(text)}
		if _, err := diff.Compare(good, bad); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
			t.Errorf("%q: got %v", text, err)
		}
		if _, err := diff.Compare(bad, good); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// drawnPolicy is the parts of a small policy that differs from others in everything
// that a request can meet.
func drawnPolicy(t *rapid.T) []string {
	some := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	parts := []string{"version: 1\nroots: " + some("roots", "[{path: /a}]", "[{path: /a}, {path: /b}]", "[{path: /a/b}]", "[{path: /b}, {path: /a}]") + "\nexecutables:\n"}
	for i, word := range []string{"name: p, path: /bin/p", "path: /bin/q", "name: q, path: /bin/q"} {
		one := ""
		if i == 0 || rapid.Bool().Draw(t, "program") {
			one = fmt.Sprintf("  - {%s, args: %s%s}\n", word, drawnArgs(t, i), some("more", "", "", "", ", line_breaks: true", ", max_args: 2", ", limits: {timeout: 5m}", ", sha256: "+strings.Repeat("a", 64), ", sha256: "+strings.Repeat("b", 64)))
		}
		parts = append(parts, one)
	}
	return append(parts,
		some("rules", "", "", "rules: [{name: r, deny: 'argv.size() > 2'}]\n", "rules: [{name: r, ask: 'stdin'}, {name: s, deny: 'cwd == \"/b\"'}]\n", "rules: [{name: r, deny: 'executable == \"q\"'}]\n"),
		some("environment", "", "environment: {accept: {A: <word>}}\n", "environment: {accept: {A: <int>, B: <path>}}\n", "environment: {accept: {A: '<re:[a-z]*>', B: <word>}}\n"),
		some("limits", "", "limits: {timeout: 1m}\n", "limits: {timeout: 3m, memory: 1GiB, idle: 1m}\n", "limits: {concurrent: 2, memory: 2GiB}\n"),
		some("containment", "", "containment: {require: off}\n", "containment: {require: standard, network: host}\n"),
	)
}

func drawnArgs(t *rapid.T, i int) string {
	if rapid.IntRange(0, 5).Draw(t, "any") == 0 {
		return "any"
	}
	var rules []string
	for j := range rapid.IntRange(1, 3).Draw(t, "rules") {
		label := fmt.Sprint(i, j)
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "<word>", "<int>", "<path>", `"{a,1}"`, `"<re:[ab1]+>"`, `"<re:(?s).*>"`, "-v"}), 0, 2).Draw(t, label)
		effect := rapid.SampledFrom([]string{"allow", "allow", "deny"}).Draw(t, label+" effect")
		more := ""
		switch rapid.IntRange(0, 4).Draw(t, label+" end") {
		case 0:
			words = append(words, "'...'")
		case 1:
			more = ", rest: <word>..."
		case 2:
			more = ", flags: {-n: " + rapid.SampledFrom([]string{"none", "<int>", "<word>", "<path>", "a"}).Draw(t, label+" value") + "}"
		}
		rules = append(rules, "{"+effect+": ["+strings.Join(words, ", ")+"]"+more+"}")
	}
	return "[" + strings.Join(rules, ", ") + "]"
}

type machine struct {
	leads  map[string]string // where words lead
	digest paddock.Digest
	active int
	held   []string
}

func (m machine) allows(p *policy.Policy, req paddock.Request) bool {
	within := func(p string, roots []string) string {
		for _, r := range roots {
			if p == r || strings.HasPrefix(p, r+"/") {
				return r
			}
		}
		return ""
	}
	f := policy.Facts{
		Executable: policy.ExecutableFacts{Found: true, Digest: m.digest}, Paths: map[string]policy.PathFacts{}, Home: "/h",
		Levels: []paddock.Level{paddock.Full, paddock.Standard, paddock.Off}, Held: m.held, Active: m.active,
	}
	dir := req.Command.Dir
	if dir == "" {
		dir = p.Roots()[0]
	}
	f.Dir = policy.DirFacts{Found: true, Real: dir, Root: within(dir, p.Roots())}
	for _, w := range p.Wanted(req).Paths {
		f.Paths[w] = policy.PathFacts{Real: m.leads[w], Inside: within(m.leads[w], p.Roots()) != ""}
	}
	return policy.Decide(p, req, f).Effect == paddock.Allow
}

// Whatever was refused and is allowed, diff calls wider.
func TestNothingIsMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, others := drawnPolicy(t), drawnPolicy(t)
		for i := range others { // most changes are small
			if rapid.IntRange(0, 9).Draw(t, "the same") > 1 {
				others[i] = parts[i]
			}
		}
		before, after := strings.Join(parts, ""), strings.Join(others, "")
		o, err := policy.Load("old.yaml", []byte(before))
		if err != nil {
			t.Skip("not a policy") // a word twice, or a flag that is a word
		}
		n, err := policy.Load("new.yaml", []byte(after))
		if err != nil {
			t.Skip("not a policy")
		}
		changes := compare(t, before, after)
		for range 20 {
			req, m := drawnRequest(t)
			if !changes.Wider() && m.allows(n, req) && !m.allows(o, req) {
				t.Fatalf("%q in %q with %v is allowed now, and diff says %+v\n%s\n%s", req.Command.Argv, req.Command.Dir, m, changes, before, after)
			}
		}
		for _, c := range changes {
			if c.Effect != diff.Widened || c.Example == nil {
				continue
			}
			req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Agent, ID: "a"}, Door: paddock.DoorCLI, Command: paddock.Command{Argv: c.Example}}
			either := func(digit string) bool {
				return machine{leads: everywhere(n.Roots()[0], c.Example), digest: digestOf(digit), held: all}.allows(n, req)
			}
			if c.Outside == nil && !either("a") && !either("b") {
				t.Fatalf("%q is shown as allowed, and isn't\n%s", c.Example, after)
			}
		}
	})
}

var all = []string{"memory", "processes", "cpus"}

func digestOf(digit string) paddock.Digest {
	return paddock.Digest("sha256:" + strings.Repeat(digit, 64))
}

func everywhere(root string, argv []string) map[string]string {
	m := map[string]string{}
	for _, w := range argv {
		m[w] = root
		if _, value, ok := strings.Cut(w, "="); ok {
			m[value] = root
		}
	}
	return m
}

func drawnRequest(t *rapid.T) (paddock.Request, machine) {
	words := []string{"a", "b", "1", "-1", "-v", "-n", "-n=1", "-n=a", "--", "x", "/x", "a\nb", "ab", ""}
	argv := append([]string{rapid.SampledFrom([]string{"p", "q", "/bin/p", "/bin/q"}).Draw(t, "word")}, rapid.SliceOfN(rapid.SampledFrom(words), 0, 3).Draw(t, "args")...)
	req := paddock.Request{Principal: paddock.Principal{Kind: paddock.Agent, ID: "agent"}, Door: paddock.DoorCLI, Command: paddock.Command{Argv: argv}}
	req.Command.Dir = rapid.SampledFrom([]string{"", "/a", "/a/b", "/b", "/c"}).Draw(t, "dir")
	req.Command.Timeout = rapid.SampledFrom([]paddock.Duration{0, 0, 90e9, 150e9, 240e9}).Draw(t, "timeout")
	if rapid.IntRange(0, 3).Draw(t, "with a variable") == 0 {
		req.Command.Env = map[string]string{rapid.SampledFrom([]string{"A", "B"}).Draw(t, "name"): rapid.SampledFrom([]string{"a", "1", "/x", "-1", ""}).Draw(t, "value")}
	}
	m := machine{leads: map[string]string{}, digest: digestOf(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "digest"))}
	for _, w := range append(words, "") {
		m.leads[w] = rapid.SampledFrom([]string{"/a/x", "/a/b/x", "/b", "/c"}).Draw(t, "leads")
	}
	m.active = rapid.IntRange(0, 9).Draw(t, "active")
	if rapid.Bool().Draw(t, "held") {
		m.held = all
	}
	return req, m
}
