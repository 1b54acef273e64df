package pattern

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestToken(t *testing.T) {
	tests := []struct {
		token string
		yes   []string
		no    []string
	}{
		{"test", []string{"test"}, []string{"Test", "test ", "tes", "testing", "", "=test"}},
		{"", []string{""}, []string{" ", "x"}},
		{"=...", []string{"..."}, []string{"=...", "x"}},
		{"==x", []string{"=x"}, []string{"==x", "x"}},
		{"=<word>", []string{"<word>"}, []string{"x"}},
		{"={a,b}", []string{"{a,b}"}, []string{"a"}},
		{"./...", []string{"./..."}, []string{".", "./x"}},
		{"é", []string{"é"}, []string{"e\u0301", "e"}},
		{"{a,b}", []string{"a", "b"}, []string{"{a,b}", "a,b", "", "c"}},
		{"<word>", []string{"x", "a b", "a/b", "a=b", "é", "TestX/y", "..", "=x", "日本"},
			[]string{"", "-x", "-", "@x", "/x", "a\nb", "a\x00", "a\x7f", "\xff", "a\u0085", "a\u2028", "a\u202eb", "a\xed\xa0\x80", "x\xc0\x80"}},
		{"<int>", []string{"0", "12", "-3", "007", "999999999999999999"}, []string{"", "-", "+1", "1.0", "1e3", "0x1", " 1", "١", "9999999999999999999", "--1"}},
		{"<path>", []string{"x", "/etc", "../x", ".", "a b", "./-x"}, []string{"", "-x", "@x", "a\x00", "a\nb", "\xff"}},
		{"<package>", []string{".", "./", "./...", "./x", "./x/y/...", "./x/", "./foo...", "./a.b-c_d~e+f", "./.hidden"},
			[]string{"", "..", "./..", "./../x", "./x/../y", "x", "x/...", "...", "/x", "example.org/x", "./x@v1", "./ x", "./-x", "./x//y", "./....", "./é", "./x\n", "-x", "./x/.", "./a*"}},
		{"<re:[a-z]+>", []string{"abc"}, []string{"", "abc1", "1abc", "abc\n", "a\nb", "\xffa"}},
		{"<re:a|b>", []string{"a", "b"}, []string{"ax", "xb"}},
		{`<re:\Qa.b>`, []string{"a.b"}, []string{"axb", "a.b)", `a.b)\z`}},
		{"<re:(?i)a>", []string{"a", "A"}, []string{"ab"}},
		{"<re:(?-s).|b$|^c>", []string{"x", "b", "c"}, []string{"\n", "xb", "cx"}},
		{"<re:(?m)^a$>", []string{"a"}, []string{"a\nrm", "rm\na"}},
		{"<re:(?s).*>", []string{"", "a\nb", "-x"}, []string{"\xff"}},
	}
	for _, test := range tests {
		token, err := ParseToken(test.token)
		if err != nil {
			t.Errorf("%q: %v", test.token, err)
			continue
		}
		if token.Text() != test.token {
			t.Errorf("%q is shown as %q", test.token, token.Text())
		}
		for _, w := range test.yes {
			if !token.Match(w) {
				t.Errorf("%q doesn't match %q", test.token, w)
			}
		}
		for _, w := range test.no {
			if token.Match(w) {
				t.Errorf("%q matches %q", test.token, w)
			}
		}
	}
}

func TestTokenFaults(t *testing.T) {
	for _, s := range []string{
		"...", "<", "<>", "<word", "<words>", "<WORD>", "<re:>x", "<re:(>", "<re:a)|(b>", "<re:a\\>", "<re:\\1>", "<re:(?=a)>", "{", "{}", "{a", "{a,}", "{,a}", "{a, b}", "{a,a}", "{<int>}", "{...}", "{{a},b}",
		"--x=<word>", "a<re:x>", "a\x00", "\xff", "<re:" + strings.Repeat("a", 1001) + ">", "<re:a{1001}>",
	} {
		if _, err := ParseToken(s); err == nil {
			t.Errorf("%q is taken as a token", s)
		}
	}
}

// rule makes a rule of a line such as "test rest=<word>... flags=-v:none,-n:<int>".
func rule(t testing.TB, line string) *Rule {
	t.Helper()
	var s Source
	for _, w := range strings.Fields(line) {
		switch {
		case strings.HasPrefix(w, "rest="):
			s.Rest = w[5:]
		case strings.HasPrefix(w, "flag="):
			name, value, _ := strings.Cut(w[5:], ":")
			s.Flags = append(s.Flags, Flag{name, value})
		default:
			s.Words = append(s.Words, w)
		}
	}
	r, faults := Compile(s)
	if faults != nil {
		t.Fatalf("%s: %v", line, faults)
	}
	return r
}

func TestMatch(t *testing.T) {
	const goTest = "test flag=-run:<word> flag=-count:<int> flag=-v:none flag=-o:<path> rest=<package>..."
	tests := []struct {
		rule string
		args string // separated by spaces; _ is an empty word
		why  string // "" for a match
	}{
		{"", "", ""},
		{"", "x", `"x" is one word too many`},
		{"", "-x", `"-x" isn't a flag that is allowed here`},
		{"test", "test", ""},
		{"test", strings.Repeat("é", 31) + "x", `"` + strings.Repeat("é", 30) + "…\" isn't `test`"},
		{"test", "", "`test` is missing"},
		{"test", "testing", "\"testing\" isn't `test`"},
		{"test", "test x", `"x" is one word too many`},
		{"test", "test -v", `"-v" isn't a flag`},
		{"test", "-v test", `"-v" isn't`},
		{"log", "logout", "isn't `log`"},
		{goTest, "test", ""},
		{goTest, "test ./...", ""},
		{goTest, "test -v ./... -run X . -count 1", ""},
		{goTest, "test -run=X -run Y -count=-1 -count -1", ""},
		{goTest, "test -v -v", ""},
		{goTest, "test -- ./...", ""},
		{goTest, "test -v -- -v", "isn't `<package>`"},
		{goTest, "test -- -- .", "isn't `<package>`"},
		{goTest, "-v test", `"-v" isn't`},
		{goTest, "test -exec sh", `"-exec" isn't a flag`},
		{goTest, "test -exec=sh", `"-exec=sh" isn't a flag`},
		{goTest, "test --v", `"--v" isn't a flag`},
		{goTest, "test -v=true", "-v takes no value"},
		{goTest, "test -run", "-run needs a value, `<word>`"},
		{goTest, "test -run -exec", "-run is followed by \"-exec\""},
		{goTest, "test -run --", "-run is followed by"},
		{goTest, "test -run=", "the value \"\" of -run isn't `<word>`"},
		{goTest, "test -run=-x", "the value \"-x\" of -run"},
		{goTest, "test -count x", "the value \"x\" of -count isn't `<int>`"},
		{goTest, "test -count=1=2", "the value \"1=2\""},
		{goTest, "test -ru X", `"-ru" isn't a flag`},
		{goTest, "test -v./...", `"-v./..." isn't a flag`},
		{goTest, "test -", "isn't `<package>`"},
		{goTest, "test _", "\"\" isn't `<package>`"},
		{"x ...", "x", ""},
		{"x ...", "x -a --b=c -- / \xff", ""},
		{"x ...", "y", "isn't `x`"},
		{"...", "", ""},
		{"...", "-a b", ""},
		{"<word> <int>...", "a 1 2 3", ""},
		{"<word> <int>...", "a 1 x", "isn't `<int>`"},
		{"<word> <int>...", "a -1", `"-1" isn't a flag`},
		{"{a,b}...", "a b a", ""},
		{"{a,b}...", "a c", "isn't `{a,b}`"},
		{"flag=-j:<int> rest={a,b}...", "-j 4 a", ""},
		{"flag=-j:<int> rest={a,b}...", "a -j=4", ""},
		{"<word> flag=-v:none", "-v x", ""},
		{"<word> flag=-v:none", "x -v", ""},
		{"run test -- rest=<word>...", "run test -- x", ""},
		{"run test -- rest=<word>...", "run test x", "isn't `--`"},
		{"run -- flag=-v:none", "run -v --", ""},
		{"run -- flag=-v:none", "run -- -v", ""},
		{"-l flag=-v:none", "-l -v", ""},
		{"-l flag=-v:none", "-v -l", "isn't `-l`"},
		{"<re:-O[0-3]> rest=<word>...", "-O2 x", ""},
		{"<re:.*>", "-O2", `"-O2" isn't a flag`},
		{"flag=-v:none rest=<re:.*>...", "-v -- -x", ""},
		{"flag=-v:none rest=<re:.*>...", "-x", `"-x" isn't a flag`},
		{"flag=-x:<re:.*>", "-x -y", "-x is followed by"},
		{"flag=-x:<re:.*>", "-x=-y", ""},
		{"flag=-x:{-a,-b}", "-x -a", ""},
		{"flag=-x:=none", "-x none", ""},
		{"<path> out", "a out", ""},
	}
	for _, test := range tests {
		r := rule(t, test.rule)
		args := strings.Fields(test.args)
		for i, a := range args {
			if a == "_" {
				args[i] = ""
			}
		}
		m := r.Match(args, func(string) bool { return true })
		if m.OK != (test.why == "") || !strings.Contains(m.Why(), test.why) || m.OK != (m.Why() == "") {
			t.Errorf("rule %q with %q: matches %v, because %q; want %q", test.rule, test.args, m.OK, m.Why(), test.why)
		}
	}
}

func TestPaths(t *testing.T) {
	r := rule(t, "cp <path> flag=-o:<path> flag=-n:<word> rest=<path>...")
	args := []string{"cp", "a", "-o=b", "-n", "x", "-o", "c", "d"}
	if got := r.Paths(args); !slices.Equal(got, []string{"a", "b", "c", "d"}) || !r.WantsPaths() {
		t.Errorf("paths are %q", got)
	}
	m := r.Match(args, func(w string) bool { return w == "a" })
	if !m.OK || !slices.Equal(m.Outside, []string{"b", "c", "d"}) {
		t.Errorf("outside are %q", m.Outside)
	}
	if got := rule(t, "x <word>").Paths([]string{"x", "y"}); got != nil {
		t.Errorf("paths are %q", got)
	}
}

func TestForm(t *testing.T) {
	for line, want := range map[string]string{
		"": "",
		"test flag=-v:none flag=-n:<int> rest=<word>...": "test [-v] [-n <int>] [<word>...]",
		"<word> flag=-v:none":                            "[-v] <word>",
		"x ...":                                          "x ...",
		"{a,b}...":                                       "[{a,b}...]",
	} {
		if got := rule(t, line).Form(); got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
}

func TestCompileFaults(t *testing.T) {
	_, faults := Compile(Source{
		Words: []string{"...", "a", "-v", "<x>"},
		Flags: []Flag{{"-v", "none"}, {"-w", "<y>"}},
		Rest:  "b",
	})
	want := []Fault{{InWords, 0, ""}, {InWords, 3, ""}, {InFlagName, 0, ""}, {InFlagValue, 1, ""}, {InRest, 0, ""}}
	if len(faults) != len(want) {
		t.Fatalf("faults are %v", faults)
	}
	for i, f := range faults {
		if f.Part != want[i].Part || f.Index != want[i].Index || f.Message == "" {
			t.Errorf("fault %d is %+v", i, f)
		}
	}
}

// Twice the words take about twice the time, and no expression goes wild.
func TestMatchIsLinear(t *testing.T) {
	r := rule(t, "flag=-x:<re:(a+)+b> rest=<re:(a*)*b>...")
	args := make([]string, 256)
	for i := range args {
		args[i] = strings.Repeat("a", 4096) + "b"
	}
	args[255] = strings.Repeat("a", 4096)
	start := time.Now()
	if r.Match(args, nil).OK {
		t.Error("matched")
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v for a megabyte", d)
	}
}

// A literal rule matches exactly its own words, whatever they are.
func TestLiteralsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z-]{0,3}`), 0, 4).Draw(t, "words")
		args := rapid.SliceOfN(rapid.StringMatching(`[a-z-]{0,3}`), 0, 4).Draw(t, "args")
		s := Source{}
		for _, w := range words {
			s.Words = append(s.Words, "="+w)
		}
		r, faults := Compile(s)
		if faults != nil {
			t.Fatalf("%v", faults)
		}
		if !r.Match(words, nil).OK || r.Match(args, nil).OK != slices.Equal(words, args) {
			t.Fatalf("%q with %q", words, args)
		}
	})
}

func FuzzPattern(f *testing.F) {
	f.Add("test\n<word>", "-v\nnone\n-n\n<int>", "<path>...", "test\nx\n-v\n-n=3")
	f.Add("...", "", "", "\x00")
	f.Add("{a,b}...", "", "", "a\nb\n--")
	f.Add("<re:(a|b)*c>", "-x\n<re:.*>", "<package>...", "-x\n-y\n./...")
	f.Fuzz(func(t *testing.T, words, flags, rest, argv string) {
		s := Source{Rest: rest}
		if words != "" {
			s.Words = strings.Split(words, "\n")
		}
		parts := strings.Split(flags, "\n")
		for i := 0; i+1 < len(parts); i += 2 {
			s.Flags = append(s.Flags, Flag{parts[i], parts[i+1]})
		}
		r, faults := Compile(s)
		if (r == nil) == (faults == nil) {
			t.Fatalf("%v, %v", r, faults)
		}
		if r == nil {
			return
		}
		args := strings.Split(argv, "\n")
		asked := r.Paths(args)
		m := r.Match(args, func(w string) bool {
			if !slices.Contains(asked, w) {
				t.Fatalf("asked about %q, which wasn't announced", w)
			}
			return false
		})
		if m.OK != (m.Why() == "") || m.At < 0 || m.At > len(args) {
			t.Fatalf("%+v", m)
		}
		if !m.OK || r.any {
			return
		}
		// Without an open rest every word is one that the rule can name.
		for i, a := range args {
			if _, _, _, known := r.flag(a); len(a) > 1 && a[0] == '-' && !known && a != "--" && !slices.Contains(args[:i], "--") &&
				!slices.ContainsFunc(append(r.tokens(), r.values()...), func(t Token) bool { return (t.takesDash() || t.kind == intToken) && t.Match(a) }) {
				t.Fatalf("%q was taken by %s", a, fmt.Sprint(s))
			}
		}
		r.Form()
	})
}

func (r *Rule) tokens() []Token {
	all := slices.Clone(r.words)
	if r.rest != nil {
		all = append(all, *r.rest)
	}
	return all
}

func (r *Rule) values() []Token {
	var all []Token
	for _, f := range r.flags {
		all = append(all, f.value)
	}
	return all
}
