package shell

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSuggest(t *testing.T) {
	tests := []struct {
		line string
		want [][]string
		note string
	}{
		{"go vet ./... && echo done", [][]string{{"go", "vet", "./..."}, {"echo", "done"}}, ""},
		{"a; b || c | d", [][]string{{"a"}, {"b"}, {"c"}, {"d"}}, "pipe"},
		{`echo "it's" 'a "b"' c\ d`, [][]string{{"echo", "it's", `a "b"`, "c d"}}, ""},
		{`echo "a\"b\n" a\b`, [][]string{{"echo", `a"b\n`, "ab"}}, ""},
		{"echo a\\\nb", [][]string{{"echo", "ab"}}, ""},
		{"go test > out 2>&1", [][]string{{"go", "test"}}, "Redirections"},
		{"echo $HOME; ls", [][]string{{"ls"}}, "expansion"},
		{"echo $(id)", nil, "expansion"},
		{"echo \"$(id)\"", nil, "expansion"},
		{"echo `id`", nil, "expansion"},
		{"ls *.go", nil, "expansion"},
		{"ls '*.go' \"a?\"", [][]string{{"ls", "*.go", "a?"}}, ""},
		{"ls ~/x", nil, "expansion"},
		{"ls {a,b}", nil, "expansion"},
		{"echo $'a' ", nil, "expansion"},
		{"echo $\"a\" ", nil, "expansion"},
		{"A=b go test", [][]string{{"go", "test"}}, "Assignments"},
		{"A=b", nil, "Assignments"},
		{"cd x && ls", [][]string{{"ls"}}, "`cd`"},
		{"! a", [][]string{{"a"}}, "`!`"},
		{"a & b", [][]string{{"a"}, {"b"}}, "background"},
		{"(a; b) && { c; }", [][]string{{"a"}, {"b"}, {"c"}}, ""},
		{"for i in 1 2; do a; done", nil, "Loops"},
		{"if a; then b; fi", nil, "Loops"},
		{"echo 'open", nil, "can't be read"},
		{"a &&", nil, "can't be read"},
		{strings.Repeat("a;", 5000), nil, "too long"},
		{"> out", nil, "Redirections"},
	}
	for _, test := range tests {
		s := Suggest(test.line)
		if diff := cmp.Diff(test.want, s.Argvs); diff != "" {
			t.Errorf("%q:\n%s", test.line, diff)
		}
		if !strings.Contains(s.Note, test.note) || (test.note == "") != (s.Note == "") {
			t.Errorf("%q: note is %q, want %q", test.line, s.Note, test.note)
		}
	}
	for _, nothing := range []string{"", "  ", "# a comment"} {
		if s := Suggest(nothing); s != nil {
			t.Errorf("%q suggests %+v", nothing, s)
		}
	}
	if s := Suggest(strings.Repeat("a;", 100)); len(s.Argvs) != maxArgvs || !strings.Contains(s.Note, "more than is shown") {
		t.Errorf("%d argvs", len(s.Argvs))
	}
}

func TestSyntax(t *testing.T) {
	for word, want := range map[string]string{
		"go": "", "/usr/bin/go": "", "./a-b_c.d": "", "g++": "", "été": "", "a=b/c": "an assignment, which is the shell's", "/x=y": "",
		"a b": "white space", "a\tb": "white space", "a\u00a0b": "white space", "a\nb": "a line break", "a\rb": "a line break", "a\u2028": "a line break",
		"a;b": "the shell's `;`", "$x": "the shell's `$`", "`id`": "the shell's ``", "~/x": "the shell's `~`", "a\x1b": "a control character",
		"a*": "the shell's `*`", "#": "the shell's `#`", "a\\b": "the shell's `\\`",
	} {
		if got := Syntax(word); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q has %q, want %q", word, got, want)
		}
	}
}

func TestShells(t *testing.T) {
	for line, want := range map[string]string{
		"bash -c x": "x", "/bin/sh -c x y": "x", "sh -ec x": "x", "zsh -l -c x": "x", "bash -c": "", "bash x.sh": "", "bash --rc x": "", "bash": "", "go -c x": "",
		"busybox sh -c x": "x",
	} {
		argv := strings.Fields(line)
		if is := IsShell(argv); is != (want != "") || is && Line(argv) != want {
			t.Errorf("%q is a shell: %v", line, is)
		}
	}
}

func TestQuote(t *testing.T) {
	argv := []string{"echo", "it's", "a b", "$x", "&&", "ls", "*", ""}
	if !HasOperators(argv) || HasOperators([]string{"a", "&&b"}) {
		t.Error("operators aren't told apart")
	}
	s := Suggest(Quote(argv))
	if diff := cmp.Diff([][]string{{"echo", "it's", "a b", "$x"}, {"ls", "*", ""}}, s.Argvs); diff != "" {
		t.Errorf("%s\n%+v", diff, s)
	}
	if got := Quote([]string{"a", "b\x00c"}); got != "a b\x00c" {
		t.Errorf("got %q", got)
	}
}

func FuzzShellSuggestion(f *testing.F) {
	for _, s := range []string{"go vet ./... && echo done", "a | b > c", "$(x) `y` ${z@P}", "<<E\nx\nE", "((1+2))", "[[ a =~ b ]]", "case x in y) z;; esac", "'", "\\", "f() { g; }", "!", "{", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		Syntax(line)
		argv := strings.Fields(line)
		HasOperators(argv)
		if len(argv) > 0 {
			IsShell(argv)
			Suggest(Quote(argv))
		}
		s := Suggest(line)
		if s == nil {
			return
		}
		if len(s.Argvs) > maxArgvs || slices.ContainsFunc(s.Argvs, func(a []string) bool { return len(a) == 0 }) {
			t.Fatalf("%+v", s)
		}
	})
}
