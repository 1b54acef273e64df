package learn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/policy/compiled/layered"
	"paddock/internal/review/learn"
)

const before = `version: 1
roots: [{path: /a}]
executables:
  - name: go # the compiler
    path: /bin/go
    args:
      - deny: [run, ...]
      - allow: [test, <package>]
  - {name: any, path: /bin/any, args: any}
containment: {require: off}
`

// An agent that gets tasks doesn't become a command because somebody asked for one.
func TestDelegatesAreNotLearned(t *testing.T) {
	t.Parallel()
	text := before + "launch: {agents: true}\ndelegates: {providers: {worker: {path: /bin/worker}, go: {path: /bin/go}}}\n"
	p, err := learn.Propose("p", []byte(text), []learn.Command{
		{Argv: []string{"worker"}, Codes: []paddock.Code{paddock.ExecutableNotAllowed}, Times: 2, By: []string{"x"}},
		{Argv: []string{"go", "vet"}, Codes: []paddock.Code{paddock.ArgumentsNotAllowed}, Times: 1, By: []string{"x"}},
	}, find)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Skipped) != 1 || p.Skipped[0].Argv[0] != "worker" || !strings.Contains(p.Skipped[0].Why, "paddock delegate") {
		t.Errorf("not learned: %+v", p.Skipped)
	}
	if len(p.Learned) != 1 || p.Learned[0].Argv[0] != "go" || strings.Contains(string(p.Text), "name: worker") {
		t.Errorf("learned: %+v\n%s", p.Learned, p.Text)
	}
}

func find(word string) (string, string) {
	if strings.HasPrefix(word, "/") {
		return word, ""
	}
	if word == "none" {
		return "", "no such program"
	}
	return "/usr/bin/" + word, ""
}

func refused(argv ...string) learn.Command {
	return learn.Command{Argv: argv, Codes: []paddock.Code{paddock.ArgumentsNotAllowed}, Times: 1}
}

func TestPropose(t *testing.T) {
	p, err := learn.Propose("p.yaml", []byte(before), []learn.Command{
		refused("go", "vet", "./..."), refused("go", "build", "./..."), refused("go", "env", "-json"), refused("/bin/go", "version"),
		refused("make", "all"), refused("make", "test"), refused("make"), refused("/opt/tool", "<x>", "...", "=", "yes", "a,b"),
		refused("go", "run", "."), refused("go", "test", "/etc"), refused("go", "test", "./x"), refused("any", "x"), refused("none"), refused("a b"), refused(),
		refused("/opt/x/make", "x"), refused("go", "a\nb"),
		{Argv: []string{"go", "fmt"}, Codes: []paddock.Code{paddock.ArgumentsNotAllowed, paddock.RuleDenied}},
	}, find)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, "      - allow: [test, <package>]\n", `      - allow: [test, <package>]
      - allow: ["{build,vet}", "./..."]
      - allow: [env, "-json"]
      - allow: [version]
      - allow: [test, /etc]
`, 1)
	want = strings.Replace(want, "containment:", `  - name: make
    path: /usr/bin/make
    args:
      - allow: ["{all,test}"]
      - allow: []
  - name: tool
    path: /opt/tool
    args:
      - allow: ["=<x>", "=...", "==", "yes", "a,b"]
containment:`, 1)
	if string(p.Text) != want {
		t.Errorf("proposed\n%s", p.Text)
	}
	var why []string
	for _, s := range p.Skipped {
		why = append(why, strings.Join(s.Argv, " ")+": "+s.Why)
	}
	wantWhy := []string{
		"go run .: a rule refuses it on purpose, at line 7", "go test ./x: its arguments are allowed already, at line 8, where they are inside of a root",
		"any x: its arguments are allowed already", "none: no such program", "a b: a program that is called so is better added by hand", ": it has no words",
		"/opt/x/make x: another program is called make already", "go a\nb: it has words that no rule is written for: argv_line_break",
		"go fmt: it was refused with rule_denied, which no argument rule changes",
	}
	if !slices.Equal(why, wantWhy) {
		t.Errorf("skipped %q", why)
	}
	again, err := learn.Propose("p.yaml", p.Text, []learn.Command{refused("go", "vet", "./..."), refused("make")}, find)
	if err != nil || string(again.Text) != string(p.Text) || len(again.Learned) != 0 {
		t.Errorf("learned twice: %v\n%s", err, again.Text)
	}
	if _, err := learn.Propose("p.yaml", []byte("version: 1\n"), nil, find); err == nil {
		t.Error("a broken policy was taken")
	}
}

// What was learned allows what was seen, and nothing else.
func TestNothingElse(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "-x", "--", "...", "<word>", "{a,b}", "=a", "a,b", "1", "true", "é", " ", "it's", `"`, "#", "x: y", "-n=1", "@f", "null", "~"})
	rapid.Check(t, func(t *rapid.T) {
		var seen []learn.Command
		known := map[string]bool{}
		for range rapid.IntRange(1, 6).Draw(t, "commands") {
			argv := append([]string{rapid.SampledFrom([]string{"go", "make"}).Draw(t, "program")}, rapid.SliceOfN(word, 0, 3).Draw(t, "args")...)
			if key := strings.Join(argv, "\x00"); !known[key] {
				known[key] = true
				seen = append(seen, refused(argv...))
			}
		}
		p, err := learn.Propose("p.yaml", []byte(before), seen, find)
		if err != nil {
			t.Fatalf("%v\n%v", err, seen)
		}
		was, _ := layered.Load("p.yaml", []byte(before))
		is, faults := layered.Load("p.yaml", p.Text)
		if faults != nil {
			t.Fatal(faults)
		}
		allows := func(old bool, argv []string) bool {
			file := &is
			if old {
				file = &was
			}
			e := file.Find(argv)
			if e == nil {
				return false
			}
			for _, r := range e.Candidates(argv[1:]) {
				if r.Rule.Match(argv[1:], func(string) bool { return true }).OK {
					return !r.Deny
				}
			}
			return e.Any
		}
		for _, l := range p.Learned {
			if !allows(false, l.Argv) {
				t.Fatalf("%q isn't allowed by\n%s", l.Argv, p.Text)
			}
		}
		other := append([]string{rapid.SampledFrom([]string{"go", "make"}).Draw(t, "program")}, rapid.SliceOfN(word, 0, 3).Draw(t, "args")...)
		if !known[strings.Join(other, "\x00")] && allows(false, other) && !allows(true, other) {
			t.Fatalf("%q is allowed, and wasn't seen:\n%s", other, p.Text)
		}
	})
}

// Each command that was learned has a policy of its own, which allows it and nothing else.
func TestAlone(t *testing.T) {
	t.Parallel()
	p, err := learn.Propose("p.yaml", []byte(strings.Replace(before, "containment:", "  - path: /opt/own\n    args:\n      - deny: [x]\ncontainment:", 1)), []learn.Command{
		refused("go", "vet", "./..."), refused("go", "build", "./..."), refused("/bin/go", "version"), refused("go", "run", "."),
		refused("make"), refused("/opt/tool", "<x>", "...", "=", "a,b"), refused("/opt/own", "yes"),
	}, find)
	if err != nil || len(p.Learned) != 6 {
		t.Fatalf("%v: %+v", err, p.Learned)
	}
	texts, err := p.Alone("p.yaml")
	if err != nil || len(texts) != len(p.Learned) {
		t.Fatalf("%d of %d: %v", len(texts), len(p.Learned), err)
	}
	for i, text := range texts {
		file, faults := layered.Load("alone", text)
		if len(faults) > 0 {
			t.Fatalf("%v\n%s", faults, text)
		}
		for j, l := range p.Learned {
			allows := false
			if e := file.Find(l.Argv); e != nil {
				for _, r := range e.Candidates(l.Argv[1:]) {
					allows = allows || r.Rule.Match(l.Argv[1:], func(string) bool { return true }).OK
				}
			}
			if allows != (i == j) {
				t.Errorf("for %q, %q is allowed: %t\n%s", p.Learned[i].Argv, l.Argv, allows, text)
			}
		}
	}
}

// Who asks for ever more commands makes no proposal that nobody can read, or that takes
// for ever to look at; what is asked for most often is proposed first.
func TestMost(t *testing.T) {
	t.Parallel()
	var seen []learn.Command
	for i := range 3 * learn.Most {
		seen = append(seen, refused("go", fmt.Sprint("junk", i), fmt.Sprint(i)))
	}
	often := refused("make", "all")
	often.Times = 2
	seen = append(seen, often)
	p, err := learn.Propose("p.yaml", []byte(before), seen, find)
	if err != nil || len(p.Learned) != learn.Most || len(p.Skipped) != 2*learn.Most+1 {
		t.Fatalf("%d learned, %d not: %v", len(p.Learned), len(p.Skipped), err)
	}
	if !slices.ContainsFunc(p.Learned, func(l learn.Lesson) bool { return l.Argv[0] == "make" }) || !strings.Contains(p.Skipped[0].Why, "learn again") {
		t.Errorf("%+v %+v", p.Learned[0], p.Skipped[0])
	}
	again, err := learn.Propose("p.yaml", p.Text, seen, find)
	if err != nil || len(again.Learned) != learn.Most {
		t.Errorf("%d learned then: %v", len(again.Learned), err)
	}
}
