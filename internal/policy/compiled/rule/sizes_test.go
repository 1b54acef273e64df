//go:build !quick || !linux

package rule

import (
	"slices"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
	"pgregory.net/rapid"

	"paddock"
)

// Whose cost is estimated isn't counted, unless a request is larger than what it was
// estimated for.
func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]sizes{
		`argv.exists(a, a == "--forbidden")`:                               bounds[0],
		`executable == "git" && size(argv) > 1 && argv[1] == "push"`:       bounds[0],
		`argv.exists(a, a.matches("^--(exec|toolexec)(=.*)?$"))`:           bounds[0],
		`!(cwd + "/" + path).startsWith("/srv/") || "A" in env`:            bounds[0],
		`argv.exists(a, argv.exists(b, a == b + "x"))`:                     bounds[1],
		`argv.map(a, a + a).exists(b, b.contains("--"))`:                   bounds[0],
		`argv.exists(a, argv.exists(b, argv.exists(c, a + b == c + "x")))`: {},
		`argv.exists(a, "x".matches(a))`:                                   bounds[0],
	} {
		r, faults := Compile(expression)
		if faults != nil {
			t.Errorf("%s: %v", expression, faults)
			continue
		}
		if r.most != want || (r.plain == nil) != (want == sizes{}) {
			t.Errorf("%s isn't counted up to %v, want %v", expression, r.most, want)
		}
	}
}

// A request that is larger than what was estimated is counted: an expression that
// costs too much then is ended.
func TestLargeRequestsAreCounted(t *testing.T) {
	t.Parallel()
	r, faults := Compile(`argv.exists(a, argv.exists(b, a == b + "x"))`)
	if faults != nil {
		t.Fatal(faults)
	}
	in := input
	in.Argv = nil
	for range 250 {
		in.Argv = append(in.Argv, strings.Repeat("y", 4000))
	}
	if is, err := r.Eval(Prepare(in)); err == nil || is {
		t.Errorf("it is %v, %v", is, err)
	}
	for _, in := range []Input{{}, input} {
		if _, err := r.Eval(Prepare(in)); err != nil {
			t.Error(err)
		}
	}
}

// Whatever is asked, of requests as large as an estimate is for: what isn't counted
// says what is counted, and that costs no more than was estimated.
func TestEstimatesHold(t *testing.T) {
	t.Parallel()
	env, err := environment()
	if err != nil {
		t.Fatal(err)
	}
	type asked struct {
		rule    *Rule
		counted cel.Program
		most    uint64
	}
	made := map[string]asked{}
	compile := func(t *rapid.T, expression string) asked {
		if a, ok := made[expression]; ok {
			return a
		}
		r, faults := Compile(expression)
		if faults != nil {
			t.Fatalf("%s: %v", expression, faults)
		}
		counted, err := env.Program(r.ast, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost))
		if err != nil {
			t.Fatal(err)
		}
		most, err := env.EstimateCost(r.ast, estimator{r.most})
		if err != nil {
			t.Fatal(err)
		}
		made[expression] = asked{r, counted, most.Max}
		return made[expression]
	}
	rapid.Check(t, func(t *rapid.T) {
		expression := boolean(t, 2, []string{"path", "cwd", "argv[0]"})
		a := compile(t, expression)
		if a.rule.most == (sizes{}) {
			return
		}
		in := within(t, a.rule.most)
		out, details, err := a.counted.Eval(Prepare(in))
		if cost := *details.ActualCost(); cost > a.most {
			t.Fatalf("%s costs %d, and was estimated to cost %d", expression, cost, a.most)
		}
		got, gotErr := a.rule.Eval(Prepare(in))
		if (gotErr == nil) != (err == nil) || err == nil && got != out.Value() {
			t.Fatalf("%s is %v, %v, and counted %v, %v", expression, got, gotErr, out, err)
		}
	})
}

// Nothing of a request is left where the next one is made ready.
func TestAskedForgets(t *testing.T) {
	t.Parallel()
	var a Asked
	a.Begin(input, paddock.Principal{Kind: paddock.Agent, ID: "agent-1"})
	r, _ := Compile(`"x" in argv`)
	if _, err := r.Any(&a); err != nil || len(a.as) != 1 {
		t.Fatal(len(a.as), err)
	}
	a.Forget()
	if left := a.as[:1][0]; len(a.as) != 0 || left.argv != nil || left.in.Argv != nil || left.in.Cwd != "" {
		t.Errorf("what is left is %+v", left)
	}
}

// within draws a request that is as large as most in one way or another.
func within(t *rapid.T, most sizes) Input {
	word := func(name string) string {
		w := rapid.SampledFrom([]string{"", "a", "--x", "é", "/srv/x"}).Draw(t, name)
		if rapid.Bool().Draw(t, name+" is long") {
			w = strings.Repeat("aé", most.bytes/3)
		}
		return w
	}
	in := Input{Executable: word("executable"), Path: word("path"), Cwd: word("cwd"), Principal: word("principal"), PrincipalKind: "agent"}
	w := word("word")
	for range rapid.SampledFrom([]int{0, 1, 3, most.words}).Draw(t, "words") {
		in.Argv = append(in.Argv, w)
	}
	for range rapid.SampledFrom([]int{0, 2, most.words}).Draw(t, "variables") {
		in.Env = append(in.Env, w)
	}
	return in
}

// boolean draws an expression that is true or false, about texts.
func boolean(t *rapid.T, depth int, texts []string) string {
	text := func() string {
		s := rapid.SampledFrom(append(slices.Clip(texts), `"--x"`, "executable")).Draw(t, "text")
		if rapid.IntRange(0, 4).Draw(t, "sum") == 0 {
			s = "(" + s + " + " + rapid.SampledFrom(texts).Draw(t, "more") + ")"
		}
		return s
	}
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	list := rapid.SampledFrom([]string{"argv", "env", `argv.filter(f, f != "a")`, "argv.map(m, m + m)", "(argv + env)"}).Draw(t, "list")
	inner := func() string { return boolean(t, depth-1, append(slices.Clip(texts), "x")) }
	switch kind {
	case 0:
		return text() + " == " + text()
	case 1:
		return text() + `.matches("^-*[a-z]+(é|x)?$")`
	case 2:
		return text() + ".contains(" + text() + ")"
	case 3:
		return text() + " in " + list
	case 4:
		return "size(" + text() + ") < size(" + list + ")"
	case 5:
		return list + ".exists(x, " + inner() + ")"
	case 6:
		return list + ".all(x, " + inner() + ")"
	case 7:
		return "!(" + boolean(t, depth-1, texts) + ")"
	case 8:
		return "(" + boolean(t, depth-1, texts) + " && " + boolean(t, depth-1, texts) + ")"
	}
	return "(" + boolean(t, depth-1, texts) + " || " + boolean(t, depth-1, texts) + ")"
}
