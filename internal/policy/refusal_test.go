package policy_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/known/secret"
	"paddock/internal/policy/known/usage"
)

// Each code that a gate of this package gives has a test of its name here.
func TestEveryCodeHasATest(t *testing.T) {
	source, err := os.ReadFile("refusal_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range paddock.Codes() {
		if c.Gate == "" && c.Code != paddock.InvalidRequest {
			continue // other rooms give these
		}
		if !regexp.MustCompile(`func TestRefusal_` + string(c.Code) + `\(`).Match(source) {
			t.Errorf("no test is called TestRefusal_%s", c.Code)
		}
	}
}

// A refusalCase is one request that must be refused.
type refusalCase struct {
	name   string
	policy string // minimal if empty
	change func(*paddock.Request)
	facts  func(*policy.Facts)
	// want are words of the message, hint those of the hint, line the
	// position's in the policy (0 for no position).
	want string
	hint string
	line int
}

// refused runs cases of which each must be refused first with code.
func refused(t *testing.T, code paddock.Code, gate paddock.Gate, cases ...refusalCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := c.policy
			if text == "" {
				text = minimal
			}
			p := load(t, text)
			req := ask("go", "test", "./...")
			if c.change != nil {
				c.change(&req)
			}
			facts := friendly(p, req)
			if c.facts != nil {
				c.facts(&facts)
			}
			d := policy.Decide(p, req, facts)
			r := d.Refusal()
			if r == nil {
				t.Fatalf("allowed")
			}
			if r.Code != code || r.Gate != gate {
				t.Fatalf("refused with %s at gate %s, want %s at %s", r.Code, r.Gate, code, gate)
			}
			if !strings.Contains(r.Message, c.want) || c.want == "" {
				t.Errorf("message %q doesn't say %q", r.Message, c.want)
			}
			if !strings.Contains(r.Hint, c.hint) || r.Hint == "" {
				t.Errorf("hint %q doesn't say %q", r.Hint, c.hint)
			}
			line := 0
			if r.Position != nil {
				line = r.Position.Line
			}
			if line != c.line {
				t.Errorf("position is line %d, want %d", line, c.line)
			}
			wantEffect := paddock.Deny
			if code == paddock.ApprovalRequired {
				wantEffect = paddock.Ask
			}
			if d.Effect != wantEffect || d.Grant() != nil {
				t.Errorf("effect %s with grant %v", d.Effect, d.Grant())
			}
		})
	}
}

func argv(words ...string) func(*paddock.Request) {
	return func(r *paddock.Request) { r.Command.Argv = words }
}

func TestRefusal_no_policy(t *testing.T) {
	d := policy.Decide(nil, ask("go"), policy.Facts{})
	if r := d.Refusal(); r == nil || r.Code != paddock.NoPolicy || r.Gate != paddock.GatePolicy || !strings.Contains(r.Hint, "policy init") {
		t.Errorf("got %+v", r)
	}
	if gates := slices.Collect(d.Gates.All()); len(gates) != len(paddock.Gates()) || gates[1].Verdict != paddock.Skipped || d.Effect != paddock.Deny || d.RequestDigest == "" {
		t.Errorf("got %+v", d)
	}
	exact := paddock.Refused(paddock.NoPolicy, "No policy for /srv/x.")
	if r := policy.Decide(nil, ask("go"), policy.Facts{PolicyProblem: exact}).Refusal(); r.Message != exact.Message {
		t.Errorf("the problem's own words are lost: %q", r.Message)
	}
}

func TestRefusal_policy_invalid(t *testing.T) {
	// A problem beats a policy: what can't be trusted isn't asked.
	refused(t, paddock.PolicyInvalid, paddock.GatePolicy, refusalCase{
		name:  "a policy with a problem",
		facts: func(f *policy.Facts) { f.PolicyProblem = paddock.Refused(paddock.PolicyInvalid, "writable by others") },
		want:  "writable by others", hint: "policy check",
	})
}

func TestRefusal_invalid_request(t *testing.T) {
	refused(t, paddock.InvalidRequest, paddock.GateArgv,
		refusalCase{name: "nobody", change: func(r *paddock.Request) { r.Principal = paddock.Principal{} }, want: "who asks"},
		refusalCase{name: "no id", change: func(r *paddock.Request) { r.Principal.ID = "" }, want: "who asks"},
		refusalCase{name: "unknown kind", change: func(r *paddock.Request) { r.Principal.Kind = "root" }, want: "kind"},
		refusalCase{name: "long key", change: func(r *paddock.Request) { r.IdempotencyKey = strings.Repeat("k", 201) }, want: "201 bytes"},
		refusalCase{name: "bad key", change: func(r *paddock.Request) { r.IdempotencyKey = "\xff" }, want: "idempotency key"},
		refusalCase{name: "long label", change: func(r *paddock.Request) { r.Command.Label = strings.Repeat("l", 201) }, want: "at most 200"},
		refusalCase{name: "two lines", change: func(r *paddock.Request) { r.Command.Label = "a\nb" }, want: "one line"},
		refusalCase{name: "bad label", change: func(r *paddock.Request) { r.Command.Label = "\xff" }, want: "one line"},
		refusalCase{name: "line separator", change: func(r *paddock.Request) { r.Command.Label = "a\u2028b" }, want: "one line"},
	)
	refused(t, paddock.InvalidRequest, paddock.GateDirectory,
		refusalCase{name: "NUL in dir", change: func(r *paddock.Request) { r.Command.Dir = "/a\x00" }, want: "working directory"},
		refusalCase{name: "bad dir", change: func(r *paddock.Request) { r.Command.Dir = "/\xff" }, want: "working directory"},
		refusalCase{name: "long dir", change: func(r *paddock.Request) { r.Command.Dir = strings.Repeat("/a", 3000) }, want: "working directory"},
	)
	refused(t, paddock.InvalidRequest, paddock.GateEnvironment,
		refusalCase{name: "replaced over MCP", change: func(r *paddock.Request) { r.Command.ReplaceEnv = map[string]string{} }, want: "embeds"},
		refusalCase{name: "replaced and added", change: func(r *paddock.Request) {
			r.Door, r.Command.ReplaceEnv, r.Command.Env = paddock.DoorGo, map[string]string{}, map[string]string{"A": "b"}
		}, want: "not both"},
		refusalCase{name: "impossible name", change: func(r *paddock.Request) {
			r.Door, r.Command.ReplaceEnv = paddock.DoorGo, map[string]string{"A=B": "b"}
		}, want: "name of a variable"},
		refusalCase{name: "NUL in a value", change: func(r *paddock.Request) {
			r.Door, r.Command.ReplaceEnv = paddock.DoorGo, map[string]string{"A": "b\x00"}
		}, want: "NUL"},
		refusalCase{name: "long value", change: func(r *paddock.Request) {
			r.Door, r.Command.ReplaceEnv = paddock.DoorGo, map[string]string{"A": strings.Repeat("v", 128<<10)}
		}, want: "longer"},
		refusalCase{name: "too many", change: func(r *paddock.Request) {
			r.Door, r.Command.ReplaceEnv = paddock.DoorGo, map[string]string{}
			for i := range 1001 {
				r.Command.ReplaceEnv["V"+strings.Repeat("x", i)] = ""
			}
		}, want: "1001 variables"},
	)
	text := "in"
	refused(t, paddock.InvalidRequest, paddock.GateStdin,
		refusalCase{name: "two sources", change: func(r *paddock.Request) { r.Command.Stdin = paddock.Stdin{Text: &text, File: "f"} }, want: "one source"},
		refusalCase{name: "stream alone", change: func(r *paddock.Request) { r.Command.Stdin.Stream = paddock.Stdout }, want: "beside a run"},
		refusalCase{name: "combined stream", change: func(r *paddock.Request) {
			r.Command.Stdin = paddock.Stdin{Run: "r0000000000000000000000000a", Stream: paddock.Combined}
		}, want: "stdout or stderr"},
		refusalCase{name: "no run id", change: func(r *paddock.Request) { r.Command.Stdin.Run = "../x" }, want: "run id"},
		refusalCase{name: "a terminal and a text", change: func(r *paddock.Request) {
			r.Command.Stdin.Text, r.Command.Terminal = &text, &paddock.TerminalSize{Rows: 24, Columns: 80}
		}, want: "leave its standard input out"},
		refusalCase{name: "a terminal without rows", change: func(r *paddock.Request) { r.Command.Terminal = &paddock.TerminalSize{Columns: 80} }, want: "0 rows"},
		refusalCase{name: "a terminal too wide", change: func(r *paddock.Request) { r.Command.Terminal = &paddock.TerminalSize{Rows: 24, Columns: 1001} }, want: "1001 columns"},
		refusalCase{name: "NUL in file", change: func(r *paddock.Request) { r.Command.Stdin.File = "\x00" }, want: "file to read"},
	)
	refused(t, paddock.InvalidRequest, paddock.GateLimits,
		refusalCase{name: "timeout below zero", change: func(r *paddock.Request) { r.Command.Timeout = -1 }, want: "below zero"},
		refusalCase{name: "silence below zero", change: func(r *paddock.Request) { r.Command.Idle = -1 }, want: "below zero"},
		refusalCase{name: "output below zero", change: func(r *paddock.Request) { r.Command.OutputLimit = -1 }, want: "below zero"},
	)
}

func TestRefusal_argv_empty(t *testing.T) {
	refused(t, paddock.ArgvEmpty, paddock.GateArgv,
		refusalCase{name: "nil", change: argv(), want: "no words", hint: "[\"go\""},
		refusalCase{name: "empty", change: func(r *paddock.Request) { r.Command.Argv = []string{} }, want: "no words"},
	)
}

func TestRefusal_argv_invalid(t *testing.T) {
	refused(t, paddock.ArgvInvalid, paddock.GateArgv,
		refusalCase{name: "empty word", change: argv("", "x"), want: "argv[0] is empty"},
		refusalCase{name: "bad program", change: argv("g\xffo"), want: "argv[0] isn't valid UTF-8"},
		refusalCase{name: "bad argument", change: argv("go", "test", "\xc3("), want: "argv[2] isn't valid UTF-8", line: 5},
		refusalCase{name: "surrogate", change: argv("go", "\xed\xa0\x80"), want: "UTF-8", line: 5},
	)
}

func TestRefusal_argv_nul(t *testing.T) {
	refused(t, paddock.ArgvNUL, paddock.GateArgv,
		refusalCase{name: "program", change: argv("go\x00"), want: "argv[0]"},
		refusalCase{name: "argument", change: argv("go", "test", "a\x00b"), want: "argv[2]", line: 5},
	)
}

func TestRefusal_argv_line_break(t *testing.T) {
	refused(t, paddock.ArgvLineBreak, paddock.GateArgv,
		refusalCase{name: "LF", change: argv("go", "test", "a\nb"), want: "argv[2]", hint: "line_breaks: true", line: 5},
		refusalCase{name: "CR", change: argv("go", "a\rb"), want: "argv[1]", line: 5},
	)
	p := load(t, strings.Replace(minimal, "    args:\n", "    line_breaks: true\n    args:\n      - allow: [say, \"<re:(?s).*>\"]\n", 1))
	req := ask("go", "say", "a\nb")
	if d := policy.Decide(p, req, friendly(p, req)); d.Effect != paddock.Allow {
		t.Errorf("line_breaks: true isn't heeded: %v", d.Refusal())
	}
}

func TestRefusal_argv_too_long(t *testing.T) {
	refused(t, paddock.ArgvTooLong, paddock.GateArgv,
		refusalCase{name: "one over", change: argv("go", "test", strings.Repeat("a", 4097)), want: "4097 bytes; at most 4096", line: 5},
		refusalCase{name: "2 MB", change: argv("go", "test", strings.Repeat("a", 2<<20)), want: "2097152", line: 5},
		refusalCase{name: "program", change: argv(strings.Repeat("g", 5000)), want: "argv[0]"},
		refusalCase{
			name: "raised", policy: strings.Replace(minimal, "    args:", "    max_arg_bytes: 8KiB\n    args:", 1),
			change: argv("go", "test", strings.Repeat("a", 8193)), want: "at most 8192", line: 5,
		},
	)
}

func TestRefusal_argv_too_many(t *testing.T) {
	refused(t, paddock.ArgvTooMany, paddock.GateArgv,
		refusalCase{name: "one over", change: argv(append([]string{"go"}, make([]string, 256)...)...), want: "257 words; at most 256", line: 5},
		refusalCase{name: "10,000", change: argv(append([]string{"x"}, make([]string, 9999)...)...), want: "10000 words"},
		refusalCase{
			name: "lowered", policy: strings.Replace(minimal, "    args:", "    max_args: 2\n    args:", 1),
			change: argv("go", "test", "./..."), want: "at most 2", line: 5,
		},
	)
}

func TestRefusal_shell_syntax(t *testing.T) {
	refused(t, paddock.ShellSyntax, paddock.GateArgv,
		refusalCase{name: "line", change: argv("go vet ./... && echo done"), want: "white space", hint: "suggestion"},
		refusalCase{name: "semicolon", change: argv("ls;id"), want: "`;`"},
		refusalCase{name: "line break", change: argv("go\ntest"), want: "line break"},
		refusalCase{name: "assignment", change: argv("A=b", "go"), want: "assignment"},
		refusalCase{name: "tilde", change: argv("~/bin/go"), want: "`~`"},
		refusalCase{name: "control character", change: argv("go\x1b"), want: "control"},
		refusalCase{name: "nothing to suggest", change: argv("# go"), want: "`#`", hint: "entry of its own"},
	)
}

func TestRefusal_executable_not_allowed(t *testing.T) {
	refused(t, paddock.ExecutableNotAllowed, paddock.GateExecutable,
		refusalCase{name: "unknown", change: argv("rm", "-rf", "/"), want: `"rm" isn't a permitted word. Permitted: go.`, line: 4},
		refusalCase{name: "another path", change: argv("/usr/bin/go"), want: "Permitted: go", hint: "Use the word `go`", line: 4},
		refusalCase{name: "relative path", change: argv("./go"), want: "Permitted: go", hint: "Use the word", line: 4},
		refusalCase{name: "upper case", change: argv("GO"), want: "Permitted", line: 4},
		refusalCase{name: "typing error", policy: strings.Replace(minimal, "name: go", "name: gofumpt", 1), change: argv("gofmupt"), want: "Permitted", hint: "Did you mean `gofumpt`?", line: 4},
		refusalCase{name: "look-alike", change: argv("gо"), want: "Permitted", hint: "look like `go`", line: 4},
		refusalCase{name: "full width", change: argv("ｇｏ"), want: "Permitted", hint: "look like `go`", line: 4},
		refusalCase{name: "zero width", change: argv("g\u200bo"), want: "Permitted", hint: "look like `go`", line: 4},
		refusalCase{name: "no likeness", change: argv("ゴー"), want: "Permitted", line: 4},
		refusalCase{name: "a shell", change: argv("bash", "-lc", "go vet ./..."), want: "bash", hint: "A shell isn't permitted", line: 4},
		refusalCase{name: "none", policy: "version: 1\nroots: [{path: /}]\nexecutables: []\ncontainment: {require: off}\n", want: "Permitted: (none)", line: 3},
		refusalCase{name: "long word", change: argv(strings.Repeat("g", 4000)), want: "…", line: 4},
	)
}

func TestRefusal_executable_missing(t *testing.T) {
	refused(t, paddock.ExecutableMissing, paddock.GatePin,
		refusalCase{name: "gone", facts: func(f *policy.Facts) { f.Executable.Found = false }, want: "/usr/local/go/bin/go", line: 5})
}

func TestRefusal_executable_unsafe(t *testing.T) {
	refused(t, paddock.ExecutableUnsafe, paddock.GatePin,
		refusalCase{name: "writable", facts: func(f *policy.Facts) { f.Executable.Unsafe = "/usr/local is writable by others" }, want: "writable by others", line: 5})
}

const pinned = "9f2c0000000000000000000000000000000000000000000000000000000000AB"

func TestRefusal_executable_changed(t *testing.T) {
	text := strings.Replace(minimal, "    args:", "    sha256: "+pinned+"\n    args:", 1)
	refused(t, paddock.ExecutableChanged, paddock.GatePin,
		refusalCase{name: "another", policy: text, facts: func(f *policy.Facts) {
			f.Executable.Digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
		}, want: "its digest is sha256:" + strings.Repeat("0", 64) + ", pinned is sha256:" + strings.ToLower(pinned), hint: "paddock policy pin --file", line: 5},
		refusalCase{name: "not computed", policy: text, want: "unknown", line: 5},
	)
	p := load(t, text)
	req := ask("go", "test")
	facts := friendly(p, req)
	facts.Executable.Digest = paddock.Digest("sha256:" + strings.ToLower(pinned))
	if d := policy.Decide(p, req, facts); d.Effect != paddock.Allow || d.Grant().Executable.Digest == "" {
		t.Errorf("the pinned file isn't accepted: %v", d.Refusal())
	}
	if w := p.Wanted(req); !w.Pinned || w.Executable != "/usr/local/go/bin/go" {
		t.Errorf("wanted %+v", w)
	}
}

func TestRefusal_arguments_not_allowed(t *testing.T) {
	refused(t, paddock.ArgumentsNotAllowed, paddock.GateArguments,
		refusalCase{name: "unknown flag", change: argv("go", "test", "-exec", "sh"), want: "go test [-run <word>] [-count <int>] [-v] [-race] [<package>...]", hint: `"-exec" isn't a flag`, line: 8},
		refusalCase{name: "longer word", change: argv("go", "testing"), want: "Allowed", hint: "begins like this", line: 8},
		refusalCase{name: "nothing", change: argv("go"), want: "Allowed", hint: "begins like this", line: 8},
		refusalCase{name: "denied in its own words", change: argv("go", "run", "."), want: "go run executes arbitrary code; use go vet or go test.", hint: "on purpose", line: 12},
		refusalCase{name: "denied without words", policy: strings.Replace(minimal, "        message: go run executes arbitrary code; use go vet or go test.\n", "", 1),
			change: argv("go", "run", "."), want: "The policy refuses these arguments: `go run ...`.", hint: "on purpose", line: 12},
		refusalCase{name: "operators", change: argv("go", "vet", "./...", "|", "head"), want: "Allowed", hint: "There is no shell", line: 8},
		refusalCase{name: "only denials", policy: "version: 1\nroots: [{path: /}]\nexecutables: [{name: go, path: /bin/go, args: [{deny: [x]}]}]\n", want: "Allowed: (none)", line: 3},
	)
}

const paths = `version: 1
roots: [{path: /srv/checkout}]
executables:
  - name: cat
    path: /bin/cat
    args:
      - deny: [<path>, secret]
      - allow: [<path>, <word>]
      - allow: []
        flags: {-o: <path>}
        rest: <path>...
environment: {accept: {OUT: <path>}}
containment: {require: off}
`

func TestRefusal_path_outside_root(t *testing.T) {
	outside := func(real string) func(*policy.Facts) {
		return func(f *policy.Facts) {
			for w := range f.Paths {
				f.Paths[w] = policy.PathFacts{Real: real}
			}
		}
	}
	refused(t, paddock.PathOutsideRoot, paddock.GateArguments,
		refusalCase{name: "rest", policy: paths, change: argv("cat", "../x"), facts: outside("/srv/x"), want: `"../x" leads to /srv/x`, line: 9},
		refusalCase{name: "flag", policy: paths, change: argv("cat", "-o=/etc/passwd"), facts: outside(""), want: `"/etc/passwd"`, line: 9},
		refusalCase{name: "first rule that fits", policy: paths, change: argv("cat", "/etc/passwd", "x"), facts: outside(""), want: `"/etc/passwd"`, line: 8},
		refusalCase{name: "not looked at", policy: paths, change: argv("cat", "x"), facts: func(f *policy.Facts) { f.Paths = nil }, want: `"x"`, line: 9},
	)
	refused(t, paddock.PathOutsideRoot, paddock.GateEnvironment,
		refusalCase{name: "variable", policy: paths, change: func(r *paddock.Request) {
			r.Command = paddock.Command{Argv: []string{"cat"}, Env: map[string]string{"OUT": "/etc/x"}}
		}, facts: outside("/etc/x"), want: "OUT", line: 12},
	)
	// What is denied inside the roots isn't allowed by leading outside.
	refused(t, paddock.ArgumentsNotAllowed, paddock.GateArguments,
		refusalCase{name: "denied everywhere", policy: paths, change: argv("cat", "/etc/x", "secret"), facts: outside("/etc/x"), want: "refuses these", line: 7})
}

func TestRefusal_cwd_missing(t *testing.T) {
	refused(t, paddock.CwdMissing, paddock.GateDirectory,
		refusalCase{name: "named", change: func(r *paddock.Request) { r.Command.Dir = "/srv/gone" },
			facts: func(f *policy.Facts) { f.Dir = policy.DirFacts{} }, want: `"/srv/gone", doesn't exist`, line: 2},
		refusalCase{name: "the root", facts: func(f *policy.Facts) { f.Dir = policy.DirFacts{} }, want: "the first root", line: 2},
	)
}

func TestRefusal_cwd_outside_root(t *testing.T) {
	at := func(real, root string) func(*policy.Facts) {
		return func(f *policy.Facts) { f.Dir = policy.DirFacts{Found: true, Real: real, Root: root} }
	}
	dir := func(r *paddock.Request) { r.Command.Dir = "link" }
	refused(t, paddock.CwdOutsideRoot, paddock.GateDirectory,
		refusalCase{name: "link", change: dir, facts: at("/etc", ""), want: `"link", which is /etc, isn't inside a root. Roots: /srv/checkout.`, line: 2},
		refusalCase{name: "no real path in a root", change: dir, facts: at("", "/srv/checkout"), want: "isn't inside", line: 2},
		refusalCase{name: "root of another policy", change: dir, facts: at("/home", "/home"), want: "isn't inside", line: 2},
		refusalCase{name: "a line break in the name", change: dir, facts: at("/etc\nroot: /", ""), want: `which is "/etc\nroot: /", isn't`, line: 2},
		refusalCase{name: "no real path", change: dir, facts: at("", ""), want: `"link", isn't inside`, line: 2},
	)
	// A workspace narrows, whatever was found.
	in := func(w string) func(*paddock.Request) { return func(r *paddock.Request) { r.Command.Workspace = w } }
	refused(t, paddock.CwdOutsideRoot, paddock.GateDirectory,
		refusalCase{name: "the root of a workspace", change: in("/srv/checkout/a"), facts: at("/srv/checkout", "/srv/checkout"), want: "isn't inside a root. Only the workspace /srv/checkout/a counts here, which must be a directory inside a root of the policy, without links in its name.", line: 2},
		refusalCase{name: "another workspace", change: in("/srv/checkout/a"), facts: at("/srv/checkout/b", "/srv/checkout/b"), want: "isn't inside a root. Only the workspace /srv/checkout/a counts here, which must be a directory inside a root of the policy, without links in its name.", line: 2},
		refusalCase{name: "no workspace of the root", change: in("/srv/checkoutx"), facts: at("/srv/checkoutx", "/srv/checkoutx"), want: "isn't inside", line: 2},
		refusalCase{name: "dots", change: in("/srv/checkout/../x"), facts: at("/srv/x", "/srv/checkout/../x"), want: "isn't inside", line: 2},
		refusalCase{name: "a relative one", change: in("a"), facts: at("a", "a"), want: "isn't inside", line: 2},
	)
	inside := load(t, minimal)
	req := ask("go", "test")
	req.Command.Workspace = "/srv/checkout/a"
	facts := friendly(inside, req)
	at("/srv/checkout/a/b", "/srv/checkout/a")(&facts)
	if d := policy.Decide(inside, req, facts); d.Effect != paddock.Allow || d.Grant().Root != "/srv/checkout/a" {
		t.Errorf("in a workspace: %v", d.Refusal())
	}
	p := load(t, strings.Replace(minimal, "/srv/checkout", "/", 1))
	for _, real := range []string{"/", "/srv/x"} {
		req := ask("go", "test")
		facts := friendly(p, req)
		facts.Dir.Real = real
		if d := policy.Decide(p, req, facts); d.Effect != paddock.Allow {
			t.Errorf("root / doesn't hold %s: %v", real, d.Refusal())
		}
	}
}

func TestRefusal_environment_not_allowed(t *testing.T) {
	text := minimal + "environment: {accept: {CI: <word>}}\n"
	env := func(name, value string) func(*paddock.Request) {
		return func(r *paddock.Request) { r.Command.Env = map[string]string{name: value} }
	}
	refused(t, paddock.EnvironmentNotAllowed, paddock.GateEnvironment,
		refusalCase{name: "unknown", policy: text, change: env("FOO", "1"), want: `"FOO" from callers. Accepted: CI.`, hint: "environment.accept", line: 15},
		refusalCase{name: "none accepted", change: env("FOO", "1"), want: "Accepted: (none)"},
		refusalCase{name: "other case", policy: text, change: env("ci", "1"), want: `"ci"`, line: 15},
		refusalCase{name: "loader", policy: text, change: env("LD_PRELOAD", "x"), want: "LD_PRELOAD", hint: "no policy accepts it", line: 15},
		refusalCase{name: "value", policy: text, change: env("CI", "-hunter2"), want: "The value of CI isn't `<word>`", line: 15},
	)
	p := load(t, text)
	req := ask("go", "test")
	req.Command.Env = map[string]string{"CI": "-hunter2", "LD_PRELOAD": "hunter2"}
	for _, r := range policy.Decide(p, req, friendly(p, req)).Refusals {
		if strings.Contains(r.Message+r.Hint, "hunter2") {
			t.Errorf("a value is printed: %q", r.Message)
		}
	}
}

func TestRefusal_secret_in_environment(t *testing.T) {
	refused(t, paddock.SecretInEnvironment, paddock.GateEnvironment,
		refusalCase{name: "replaced", change: func(r *paddock.Request) {
			r.Door = paddock.DoorGo
			r.Command.ReplaceEnv = map[string]string{"GITHUB_TOKEN": "hunter2", "DATABASE_URL": "hunter2"}
		}, want: "DATABASE_URL, GITHUB_TOKEN"},
	)
}

func TestRefusal_secret_unavailable(t *testing.T) {
	use := func(r *paddock.Request) { *r = ask("go") }
	refused(t, paddock.SecretUnavailable, paddock.GateContainment,
		refusalCase{name: "a problem", policy: entrusted, change: use, line: 7, want: "The secret SIX can't be used: there is no file /run/secrets/six.",
			facts: func(f *policy.Facts) {
				found(f)
				f.Secrets["SIX"] = secret.Facts{Problem: "there is no file /run/secrets/six"}
			}},
		refusalCase{name: "not looked at", policy: entrusted, change: use, line: 7, want: "OPENAI can't be used: nobody has looked",
			facts: func(f *policy.Facts) { found(f); delete(f.Secrets, "OPENAI") }},
	)
}

func TestRefusal_stdin_not_allowed(t *testing.T) {
	long := strings.Repeat("x", 1<<20+1)
	file := func(r *paddock.Request) { r.Command.Stdin.File = "in.txt" }
	refused(t, paddock.StdinNotAllowed, paddock.GateStdin,
		refusalCase{name: "a terminal that isn't given", change: func(r *paddock.Request) { r.Command.Terminal = &paddock.TerminalSize{Rows: 24, Columns: 80} }, want: "no terminal", hint: "pty: true", line: 5},
		refusalCase{name: "long text", change: func(r *paddock.Request) { r.Command.Stdin.Text = &long }, want: "1048577 bytes"},
		refusalCase{name: "problem", change: file, facts: func(f *policy.Facts) { f.Stdin.Problem = "in.txt is a directory" }, want: "in.txt is a directory."},
		refusalCase{name: "not looked at", change: file, facts: func(f *policy.Facts) { f.Stdin = policy.StdinFacts{} }, want: "wasn't looked at"},
	)
}

func TestRefusal_limit_exceeded(t *testing.T) {
	own := strings.Replace(minimal, "    args:", "    limits: {timeout: 10s, output: 1KiB}\n    args:", 1)
	refused(t, paddock.LimitExceeded, paddock.GateLimits,
		refusalCase{name: "timeout", change: func(r *paddock.Request) { r.Command.Timeout = defaultTimeout + 1 }, want: "maximum, 2m0s", hint: "120000 ms"},
		refusalCase{name: "output", change: func(r *paddock.Request) { r.Command.OutputLimit = 10<<20 + 1 }, want: "10485761 bytes, is more than the maximum, 10485760", hint: "10485760"},
		refusalCase{name: "disk", policy: minimal + "limits: {disk: 1MiB}\n", change: func(r *paddock.Request) { r.Command.DiskLimit = 1<<20 + 1 },
			facts: func(f *policy.Facts) { f.Held = []string{"disk"} }, want: "1048577 bytes, is more than the maximum, 1048576", hint: "1048576", line: 15},
		refusalCase{name: "timeout of the program", policy: own, change: func(r *paddock.Request) { r.Command.Timeout = defaultTimeout }, want: "maximum, 10s", line: 7},
		refusalCase{name: "output of the program", policy: own, change: func(r *paddock.Request) { r.Command.OutputLimit = 1025 }, want: "1024 bytes", line: 7},
		refusalCase{name: "silence", policy: minimal + "limits: {idle: 1m}\n", change: func(r *paddock.Request) { r.Command.Idle = defaultTimeout }, want: "maximum, 1m0s", hint: "60000 ms", line: 15},
		refusalCase{name: "of the section", policy: minimal + "limits: {timeout: 1s}\n", change: func(r *paddock.Request) { r.Command.Timeout = defaultTimeout }, want: "maximum, 1s", line: 15},
	)
}

const ruled = minimal + `rules:
  - name: no-forbidden
    deny: argv.exists(a, a == "--forbidden")
    message: "--forbidden is not for agents."
  - {name: no-vet, deny: 'executable == "go" && argv[1] == "vet"'}
  - {name: first, ask: 'argv[1] == "test" && "-v" in argv', message: "Ask a person."}
  - {name: second, ask: 'argv[1] == "test" && "-race" in argv'}
`

func TestRefusal_rule_denied(t *testing.T) {
	anything := strings.Replace(ruled, "      - allow: [test]", "      - allow: [x, ...]\n      - allow: [test]", 1)
	refused(t, paddock.RuleDenied, paddock.GateRules,
		refusalCase{name: "in its own words", policy: anything, change: argv("go", "x", "--forbidden"), want: "--forbidden is not for agents.", line: 18},
		refusalCase{name: "without words", policy: ruled, change: argv("go", "vet", "./..."), want: "Rule `no-vet` denies this request.", line: 19},
		refusalCase{name: "a rule that errs", policy: minimal + "rules: [{name: far, deny: 'argv[7] == \"x\"'}]\n", want: "Rule `far` can't be evaluated", hint: "operator", line: 15},
		refusalCase{name: "an ask that errs", policy: minimal + "rules: [{name: far, ask: 'argv[7] == \"x\"'}]\n", want: "can't be evaluated", line: 15},
		refusalCase{name: "a rule that costs too much", policy: minimal + "rules: [{name: slow, deny: '" + costly + "'}]\n", want: "can't be evaluated", line: 15,
			change: func(r *paddock.Request) {
				for range 100 {
					r.Command.Argv = append(r.Command.Argv, "./a")
				}
			}},
	)
	p := load(t, ruled)
	req := ask("go", "vet", "./...")
	if r := policy.Decide(p, req, friendly(p, req)).Refusal(); r.Rule != "no-vet" {
		t.Errorf("the rule isn't named: %+v", r)
	}
}

// costly takes argv to the fourth power.
const costly = "argv.all(a, argv.all(b, argv.all(c, argv.all(d, a != b || c != d || true))))"

func TestRefusal_approval_required(t *testing.T) {
	refused(t, paddock.ApprovalRequired, paddock.GateRules,
		refusalCase{name: "in its own words", policy: ruled, change: argv("go", "test", "-v"), want: "Ask a person.", line: 20},
		refusalCase{name: "without words", policy: ruled, change: argv("go", "test", "-race"), want: "Rule `second` wants a person's approval", line: 21},
		refusalCase{name: "two", policy: ruled, change: argv("go", "test", "-race", "-v"), want: "Ask a person.", line: 20},
	)
	approvedAndNoMore(t)
	// Deny beats ask: with any other reason the effect is deny.
	p := load(t, ruled)
	req := ask("go", "test", "-v")
	facts := friendly(p, req)
	facts.Active = 8
	if d := policy.Decide(p, req, facts); d.Effect != paddock.Deny || d.Refusals[0].Code != paddock.ApprovalRequired || d.Refusals[1].Code != paddock.Busy {
		t.Errorf("got %s with %v", d.Effect, d.Refusals)
	}
}

// approvedAndNoMore checks that an approval answers rules that ask, and nothing else.
func approvedAndNoMore(t *testing.T) {
	t.Helper()
	p := load(t, ruled)
	for _, c := range []struct {
		argv []string
		want paddock.Effect
	}{{[]string{"go", "test", "-v"}, paddock.Allow}, {[]string{"go", "vet", "./..."}, paddock.Deny}, {[]string{"go", "run", "x"}, paddock.Deny}} {
		req := ask(c.argv...)
		facts := friendly(p, req)
		facts.Approved = true
		if d := policy.Decide(p, req, facts); d.Effect != c.want || (d.Grant() != nil) != (c.want == paddock.Allow) {
			t.Errorf("%q, approved: %s, %v", c.argv, d.Effect, d.Refusals)
		}
	}
}

// What narrows a policy can want a second factor, and can't take one away.
func TestSecondFactorIsOnlyAdded(t *testing.T) {
	t.Parallel()
	const key = "ed25519:nKS5MVsuhyaDvtB+nCibMTak0N7Ma8tJ9BDEhhNnDXE="
	base := func(rule string) policy.Source {
		return policy.Source{Name: "/base.yaml", Data: []byte(minimal + "\napprovals: {keys: [{name: a, key: \"" + key + "\"}]}\nrules: [{name: base, " + rule + "}]\n")}
	}
	for name, c := range map[string]struct {
		base, narrower string
		want           bool
	}{
		"neither":   {"ask: 'true'", "ask: 'true'", false},
		"added":     {"ask: 'true'", "ask: 'true', second_factor: true", true},
		"kept":      {"ask: 'true', second_factor: true", "ask: 'true'", true},
		"unsaid":    {"ask: 'true', second_factor: true", "ask: 'true', second_factor: false", true},
		"elsewhere": {"ask: 'true'", "ask: 'false', second_factor: true", false},
	} {
		p, err := policy.Load("/policy.yaml", []byte("version: 1\nextends: /base.yaml\nrules: [{name: narrower, "+c.narrower+"}]\n"), base(c.base))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		req := ask("go", "test")
		d := policy.Decide(p, req, friendly(p, req))
		if got := slices.ContainsFunc(d.Refusals, func(r paddock.Refusal) bool { return r.SecondFactor }); d.Effect != paddock.Ask || got != c.want {
			t.Errorf("%s: %s, %+v", name, d.Effect, d.Refusals)
		}
	}
}

// What the floor of a machine asks nobody can approve whom a policy lists.
func TestFloorsAskIsNotApproved(t *testing.T) {
	floor := policy.Source{Name: "floor.yaml", Floor: true, Data: []byte("version: 1\nrules: [{name: floor-asks, ask: 'argv.size() > 1'}]\n")}
	p, err := policy.Load("policy.yaml", []byte(ruled), floor)
	if err != nil {
		t.Fatal(err)
	}
	req := ask("go", "test", "-v")
	facts := friendly(p, req)
	facts.Approved = true
	if d := policy.Decide(p, req, facts); d.Effect != paddock.Ask || len(d.Refusals) != 1 || d.Refusals[0].Rule != "floor-asks" || !strings.Contains(d.Refusals[0].Hint, "floor") {
		t.Errorf("%s, %+v", d.Effect, d.Refusals)
	}
}

func TestApprovalsSection(t *testing.T) {
	const key, other = "ed25519:nKS5MVsuhyaDvtB+nCibMTak0N7Ma8tJ9BDEhhNnDXE=", "ed25519:AAAAMVsuhyaDvtB+nCibMTak0N7Ma8tJ9BDEhhNnDXE="
	for text, want := range map[string]string{
		"{keys: [{name: a, key: \"" + key + "\"}]}": "",
		"{keys: [{name: a, key: \"" + key + "\"}, {name: b, key: \"" + other + "\"}], approvers: 2, uses: 3, lasts: 1h}": "",
		"{}":                  "keys",
		"{keys: []}":          "at least one item",
		"{keys: {}}":          "not a mapping",
		"{keys: [x]}":         "want a mapping",
		"{keys: [{name: a}]}": "key",
		"{keys: [{name: a, key: \"" + key + "\"}, {name: a, key: \"" + other + "\"}]}":                                             "listed before",
		"{keys: [{name: a, key: \"" + key + "\"}, {name: b, key: \"" + key + "\"}]}":                                               "listed before",
		"{keys: [{name: a, key: \"" + key + "\"}], approvers: 2}":                                                                  "more must approve",
		"{keys: [{name: a, key: \"" + key + "\", principal: p}, {name: b, key: \"" + other + "\", principal: p}], approvers: 2}":   "more must approve",
		"{keys: [{name: a, key: \"ed25519:nKS5MVsuhyaDvtB+nCibMTak0N7Ma8tJ9BDEhhNnDXF=\"}]}":                                       "base 64", // another spelling of the same
		"{keys: [{name: a, key: \"ed25519:nKS5\"}]}":                                                                               "base 64",
		"{keys: [{name: a, key: \"" + key + "\"}], approvers: 0}":                                                                  "from 1 to 16",
		"{keys: [{name: a, key: \"" + key + "\"}], second_factor: true}":                                                           "second_factor",
		"{keys: [{name: a, key: \"" + key + "\", account: anna}], verifiers: [{name: desk, key: \"" + other + "\"}]}":              "",
		"{keys: [{name: a, key: \"" + key + "\", account: anna}], verifiers: []}":                                                  "at least one item",
		"{keys: [{name: a, key: \"" + key + "\", account: \"a\\0\"}]}":                                                             "an account",
		"{keys: [{name: a, key: \"" + key + "\", account: " + "Anna" + "}]}":                                                       "an account",
		"{keys: [{name: a, key: \"" + key + "\"}], verifiers: [{name: desk, key: \"" + key + "\"}]}":                               "listed before",
		"{keys: [{name: a, key: \"" + key + "\"}], verifiers: [{name: desk, key: x}]}":                                             "base 64",
		"{keys: [{name: a, key: \"" + key + "\", account: anna}, {name: b, key: \"" + other + "\", account: anna}], approvers: 2}": "more must approve",
		"{keys: [{name: a, key: \"" + key + "\", account: anna, principal: p}, {name: b, key: \"" + other + "\", account: anna}]}": "another principal",
		"{keys: [{name: a, key: \"" + key + "\", account: anna, principal: p}, {name: b, key: \"" + other + "\", principal: p}]}":  "another `account`",
		"{keys: [{name: a, key: \"" + key + "\"}], more: 1}":                                                                       "more",
	} {
		_, err := policy.Load("policy.yaml", []byte(minimal+"\napprovals: "+text+"\n"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		for line := range strings.Lines(fmt.Sprint(err)) {
			if err != nil && !strings.HasPrefix(line, "policy.yaml:") {
				t.Errorf("%s: an error without a place: %s", text, line)
			}
		}
	}
	for rule, want := range map[string]string{
		"ask: 'true', second_factor: true": "", "ask: 'true', second_factor: false": "", "ask: 'true', second_factor: totp": "true or false", "ask: 'true', second_factor: [true]": "true or false",
		"deny: 'true', second_factor: true": "ask", "ask: 'true', second_factor: true, second_factor: false": "second_factor",
	} {
		_, err := policy.Load("policy.yaml", []byte(minimal+"\nrules: [{name: a, "+rule+"}]\n"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
}

func TestRefusal_containment_unavailable(t *testing.T) {
	none := strings.Replace(minimal, "containment: {require: off}\n", "", 1)
	refused(t, paddock.ContainmentUnavailable, paddock.GateContainment,
		refusalCase{name: "nothing said", policy: none, want: "says nothing of containment and so requires `full`", hint: "require: off"},
		refusalCase{name: "full", policy: none + "containment: {require: full}\n", want: "requires containment `full`", line: 14},
		refusalCase{name: "standard", policy: none + "containment: {require: standard}\n", want: "`standard`", line: 14},
		refusalCase{name: "nothing can be given", facts: func(f *policy.Facts) { f.Levels = nil }, want: "`off`", hint: "on Linux only", line: 14},
		// A stronger level isn't given for a weaker one: it would be another promise.
		refusalCase{
			name: "only a stronger one", policy: none + "containment: {require: standard}\n",
			facts: func(f *policy.Facts) { f.Levels = []paddock.Level{paddock.Full, paddock.Off} }, want: "`standard`", line: 14,
		},
		refusalCase{
			name: "with the reason", policy: none + "containment: {require: full}\n", line: 14, hint: "lower level",
			facts: func(f *policy.Facts) {
				f.Levels = []paddock.Level{paddock.Standard, paddock.Off}
				f.Unavailable = map[paddock.Level]string{paddock.Full: "user namespaces: max_user_namespaces is 0; raise it"}
			},
			want: "The policy requires containment `full`, which can't be given here: user namespaces: max_user_namespaces is 0; raise it.",
		},
		refusalCase{name: "an account that nobody looked up", policy: none + "containment: {require: off, run_as: builder}\n", want: "`run_as: builder`", line: 14},
		refusalCase{
			name: "an account that can't be had", policy: none + "containment: {require: off, run_as: builder}\n", line: 14, hint: "make that user",
			facts: func(f *policy.Facts) {
				f.Unowned = paddock.Refused(paddock.ContainmentUnavailable, "There is no builder.")
				f.Unowned.Hint = "make that user"
			},
			want: "There is no builder.",
		},
		refusalCase{
			name: "the reason of another level", policy: none, hint: "require: off",
			facts: func(f *policy.Facts) { f.Unavailable = map[paddock.Level]string{paddock.Standard: "Landlock"} },
			want:  "so requires `full`, which can't be given here.",
		},
	)
}

// What can be given is granted as the policy says it, with what it leaves out.
func TestContainmentIsGranted(t *testing.T) {
	none := strings.Replace(minimal, "containment: {require: off}\n", "", 1)
	for text, want := range map[string]paddock.ContainAs{
		"":                                    {Level: paddock.Full, Network: "none"},
		"containment: {}\n":                   {Level: paddock.Full, Network: "none"},
		"containment: {require: off}\n":       {Level: paddock.Off, Network: "host"},
		"containment: {network: host}\n":      {Level: paddock.Full, Network: "host"},
		"containment: {workspace: direct}\n":  {Level: paddock.Full, Network: "none"},
		"containment: {workspace: overlay}\n": {Level: paddock.Full, Network: "none", Workspace: "overlay"},
		"containment: {require: standard, read: [/a, /b], write: [/c]}\n": {
			Level: paddock.Standard, Network: "none", Read: []string{"/a", "/b"}, Write: []string{"/c"},
		},
		"containment: {run_as: 7}\n":                       {Level: paddock.Full, Network: "none", RunAs: "7"},
		"containment: {run_as: 7:8}\n":                     {Level: paddock.Full, Network: "none", RunAs: "7:8"},
		"containment: {require: off, run_as: a.b-c_D}\n":   {Level: paddock.Off, Network: "host", RunAs: "a.b-c_D"},
		"containment: {run_as: '4294967294:4294967294'}\n": {Level: paddock.Full, Network: "none", RunAs: "4294967294:4294967294"},
	} {
		p := load(t, none+text)
		req := ask("go", "test")
		facts := friendly(p, req)
		facts.Levels = []paddock.Level{want.Level}
		granted := want
		if want.RunAs != "" {
			facts.Account = &paddock.Account{UID: 7, GID: 8}
			granted.Account = facts.Account
		}
		d := policy.Decide(p, req, facts)
		if d.Effect != paddock.Allow {
			t.Fatalf("%q: refused with %v", text, d.Refusal())
		}
		if diff := cmp.Diff(granted, d.Grant().Contain); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		gate, _ := d.Gates.Of(paddock.GateContainment)
		if detail := gate.Detail; !strings.HasPrefix(detail, string(want.Level)) || strings.Contains(detail, "network") != (want.Level != paddock.Off) {
			t.Errorf("%q: the gate says %q", text, detail)
		}
		if diff := cmp.Diff(want, p.Contain()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRefusal_busy(t *testing.T) {
	refused(t, paddock.Busy, paddock.GateQuota,
		refusalCase{name: "eight", facts: func(f *policy.Facts) { f.Active = 8 }, want: "8 runs of yours are going on; at most 8"},
		refusalCase{name: "its own number", policy: minimal + "limits: {concurrent: 1}\n", facts: func(f *policy.Facts) { f.Active = 1 }, want: "at most 1", line: 15},
	)
	p := load(t, minimal)
	facts := friendly(p, ask("go", "test"))
	facts.Active = 9
	if r := policy.Decide(p, ask("go", "test"), facts).Refusal(); !r.Retryable {
		t.Errorf("busy isn't retryable")
	}
}

func TestRefusal_quota_exceeded(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	used := func(f *policy.Facts) {
		var u usage.Usage
		u.Add(usage.Begin(noon), 3, 2000, paddock.Duration(time.Hour))
		u.Kept = 5000
		f.Usage = usage.Facts{Now: noon.Add(time.Minute), Principal: u, Total: u}
	}
	quota := func(of string) string { return minimal + "quotas: {" + of + "}\n" }
	refused(t, paddock.QuotaExceeded, paddock.GateQuota,
		refusalCase{name: "runs an hour", policy: quota("principal: {runs_per_hour: 3}"), facts: used, want: "`quotas.principal.runs_per_hour`: 3 of 3 runs were started in an hour; some is free again at 2026-11-29T13:10:00Z.", line: 15},
		refusalCase{name: "runs a day", policy: quota("total: {runs_per_day: 2}"), facts: used, want: "free again at 2026-11-30T12:10:00Z", line: 15},
		refusalCase{name: "output", policy: quota("principal: {output_per_day: 2000}"), facts: used, want: "2000 of 2000 bytes were printed in a day", line: 15},
		refusalCase{name: "processors", policy: quota("principal: {cpu_per_day: 1h}"), facts: used, want: "1h0m0s of 1h0m0s of processors' time", line: 15},
		refusalCase{name: "kept", policy: quota("total: {kept: 4KiB}"), facts: used, want: "5000 of 4096 bytes of output are kept; room is made by `paddock prune`", line: 15},
	)
	p := load(t, quota("principal: {runs_per_hour: 4, runs_per_day: 4, output_per_day: 2001, cpu_per_day: 61m, kept: 5001}"))
	facts := friendly(p, ask("go", "test"))
	used(&facts)
	if d := policy.Decide(p, ask("go", "test"), facts); d.Effect != paddock.Allow {
		t.Errorf("%+v", d.Refusal())
	}
}

// What is narrower can only lower a quota.
func TestQuotasNarrow(t *testing.T) {
	agent := paddock.Principal{Kind: paddock.Agent, ID: "a"}
	p := load(t, minimal+"quotas: {principal: {runs_per_hour: 10, kept: 1MiB}}\nprincipals: [{kind: agent, narrow: {quotas: {principal: {runs_per_hour: 20, kept: 1KiB}, total: {runs_per_day: 5}}}}]\n")
	want := paddock.Quotas{Principal: paddock.Quota{RunsPerHour: 10, Kept: 1024}, Total: paddock.Quota{RunsPerDay: 5}}
	if got := p.Quotas(agent, ""); got != want {
		t.Errorf("%+v", got)
	}
	want = paddock.Quotas{Principal: paddock.Quota{RunsPerHour: 10, Kept: 1 << 20}}
	if got := p.Quotas(paddock.Principal{Kind: paddock.Operator, ID: "o"}, ""); got != want {
		t.Errorf("%+v", got)
	}
}

// The section decides for its room alone, and permits nothing else.
func TestRefusal_git_not_allowed(t *testing.T) {
	const section = "git: {executable: /usr/bin/git, roots: [sub]}\n"
	if p := load(t, minimal).For("git"); p != nil {
		t.Error("a policy without the section answers for git")
	}
	r := paddock.Refused(paddock.GitNotAllowed, "none")
	if d := policy.Decide(nil, ask("git", "log"), policy.Facts{PolicyProblem: r}); d.Refusal().Code != paddock.GitNotAllowed {
		t.Errorf("%+v", d)
	}
	whole := load(t, minimal+section)
	contained := load(t, strings.Replace(minimal, "require: off", "require: full", 1)+section)
	if as := contained.For("git").Contain(); !as.ReadOnly || as.Level != paddock.Full || as.Network != "none" {
		t.Errorf("git is contained as %s", as)
	}
	if whole.For("") != whole || whole.For("other") != nil {
		t.Error("a room that there isn't has a policy")
	}
	p := whole.For("git")
	if len(p.Words()) != 1 || p.Words()[0] != "git" || p.Roots()[0] != whole.Roots()[0]+"/sub" || p.Digest() != whole.Digest() {
		t.Errorf("%q in %q", p.Words(), p.Roots())
	}
	for _, c := range []struct {
		p    *policy.Policy
		argv []string
		want paddock.Code
	}{{p, []string{"git", "log"}, ""}, {p, []string{"go", "test"}, paddock.ExecutableNotAllowed}, {p, []string{"/usr/bin/git", "log"}, paddock.ExecutableNotAllowed}, {whole, []string{"git", "log"}, paddock.ExecutableNotAllowed}} {
		req := ask(c.argv...)
		d := policy.Decide(c.p, req, friendly(c.p, req))
		var got paddock.Code
		if r := d.Refusal(); r != nil {
			got = r.Code
		}
		if got != c.want {
			t.Errorf("%q: %v, want %q", c.argv, d.Refusal(), c.want)
		}
		if g := d.Grant(); g != nil && (len(g.Contain.Read)+len(g.Contain.Write) > 0) {
			t.Errorf("granted %+v", g.Contain)
		}
	}
}

// Of the repositories above its roots, a run is shown the own files of the nearest one,
// and none where its root isn't below one.
func TestRepositoriesAboveRoots(t *testing.T) {
	text := strings.Replace(minimal, "roots:\n", "roots:\n  - path: /srv/mono/svc/pay\n  - path: /srv/mono/x\n", 1) + "git: {executable: /usr/bin/git, repositories: [/srv/mono, /srv/mono/svc, ../.., /]}\n"
	p := load(t, text).For("git")
	for root, want := range map[string]string{"/srv/mono/svc/pay": "/srv/mono/svc/.git", "/srv/mono/x": "/srv/mono/.git", "/srv/checkout": "/.git"} {
		req := ask("git", "log")
		f := friendly(p, req)
		f.Dir.Root, f.Dir.Real = root, root
		d := policy.Decide(p, req, f)
		if d.Grant() == nil || len(d.Grant().Contain.Read) != 1 || d.Grant().Contain.Read[0] != want {
			t.Errorf("%s: %+v, want %s", root, d, want)
		}
	}
	p = load(t, strings.Replace(text, ", /]", "]", 1)).For("git")
	req := ask("git", "log")
	f := friendly(p, req)
	f.Dir.Root, f.Dir.Real = "/srv/checkout", "/srv/checkout"
	if d := policy.Decide(p, req, f); d.Grant() == nil || d.Grant().Contain.Read != nil {
		t.Errorf("%+v", d)
	}
}

func TestRefusal_launch_disabled(t *testing.T) {
	const section = "delegates: {providers: {worker: {path: /opt/worker, args: [-q, '<word>']}}}\n"
	for text, want := range map[string]bool{
		minimal: false, minimal + section: false, minimal + "launch: {agents: false}\n" + section: false, minimal + "launch: {agents: true}\n": false,
		minimal + "launch: {agents: true}\n" + section: true,
	} {
		if got := load(t, text).For("delegate") != nil; got != want {
			t.Errorf("agents may be started: %v, with %s", got, text)
		}
	}
	r := paddock.Refused(paddock.LaunchDisabled, "none")
	if d := policy.Decide(nil, ask("worker"), policy.Facts{PolicyProblem: r}); d.Refusal().Code != paddock.LaunchDisabled {
		t.Errorf("%+v", d)
	}
}
