//go:build !quick || !linux

package rule

import (
	"strings"
	"testing"
	"time"
)

var input = Input{
	Argv: []string{"git", "push", "--force"}, Executable: "git", Path: "/usr/bin/git", Cwd: "/srv/x", Principal: "agent-1", PrincipalKind: "agent",
	Env: []string{"CI"}, Stdin: true,
}

func TestEval(t *testing.T) {
	for expression, want := range map[string]bool{
		`argv.exists(a, a == "--force")`:                         true,
		`"--force" in argv && size(argv) == 3`:                   true,
		`argv[1].matches("^pu")`:                                 true,
		`executable == "git" && path == "/usr/bin/git"`:          true,
		`cwd.startsWith("/srv/") && stdin`:                       true,
		`principal == "agent-1" && principal_kind != "operator"`: true,
		`"CI" in env`:         true,
		`"LD_PRELOAD" in env`: false,
		`argv.filter(a, a.startsWith("-")).size() > 1`: false,
	} {
		r, faults := Compile(expression)
		if faults != nil {
			t.Errorf("%s: %v", expression, faults)
			continue
		}
		if got, err := r.Eval(Prepare(input)); err != nil || got != want {
			t.Errorf("%s is %v, %v", expression, got, err)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	in := input
	for range 250 {
		in.Argv = append(in.Argv, "x")
	}
	for _, expression := range []string{
		`argv[9999] == ""`,
		`1 / (size(argv) - size(argv)) == 1`,
		`argv.all(a, argv.all(b, argv.all(c, argv.all(d, a != b || c != d || true))))`,
		`argv.exists(a, "x".matches(a + "("))`,
	} {
		r, faults := Compile(expression)
		if faults != nil {
			t.Errorf("%s: %v", expression, faults)
			continue
		}
		start := time.Now()
		if got, err := r.Eval(Prepare(in)); err == nil || got {
			t.Errorf("%s is %v, %v", expression, got, err)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s ran for %v", expression, d)
		}
	}
}

func TestCompileFaults(t *testing.T) {
	for expression, want := range map[string]string{
		``:                                "Syntax error",
		`argv`:                            "must be true or false",
		`nope`:                            "the variables are argv, executable",
		`argv.join(",") == ""`:            "undeclared reference to 'join'",
		`argv[0].matches("(")`:            "matches",
		`argv[0].matches("(?=a)")`:        "matches",
		strings.Repeat("x", 9000):         "at most 8192 are read",
		`dyn(1) == 1 ? dyn("x") : dyn(2)`: "must be true or false",
	} {
		r, faults := Compile(expression)
		if r != nil || len(faults) == 0 || !strings.Contains(faults[0].Message, want) || faults[0].Line < 1 {
			t.Errorf("%.40s: %v", expression, faults)
		}
	}
	_, faults := Compile("true &&\n  nope")
	if f := faults[0]; f.Line != 2 || f.Column != 2 {
		t.Errorf("place is %d:%d", f.Line, f.Column)
	}
}
