package learn_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/policy/compiled/layered"
	"paddock/internal/review/learn"
)

const wide = `version: 1
roots: [{path: /a}]
executables:
  - name: go # the compiler
    path: /bin/go
    args:
      # never that
      - deny: [run, ...]
      # tests
      - allow: [test, <package>]
      # and looks
      - allow: [vet, ...]
      - allow: [build]
  # for nothing
  - name: unused
    path: /bin/unused
    args: any

  - name: make
    path: /bin/make
    args: any # for now
  - {name: sh, path: /bin/sh, args: any}
tests:
  - allow: [go, build]
containment: {require: off}
`

const narrow = `version: 1
roots: [{path: /a}]
executables:
  - name: go # the compiler
    path: /bin/go
    args:
      # never that
      - deny: [run, ...]
      # tests
      - allow: [test, <package>]
      - allow: [build]

  - name: make
    path: /bin/make
    args: # for now
      - allow: ["{all,check}"]
      - allow: ["-j", "4"]
  - {name: sh, path: /bin/sh, args: [{allow: ["-c", "=<x>"]}]}
tests:
  - allow: [go, build]
containment: {require: off}
`

func use(argv ...string) learn.Use { return learn.Use{Argv: argv, Program: "/bin/" + argv[0]} }

func TestNarrow(t *testing.T) {
	t.Parallel()
	used := []learn.Use{
		use("go", "test", "./..."), use("go", "test", "./x"), {Argv: []string{"/bin/make", "all"}, Program: "/bin/make"},
		use("make", "check"), use("make", "-j", "4"), use("make", "all"), use("sh", "-c", "<x>"), use("gone", "x"),
	}
	got, err := learn.Narrow("p.yaml", []byte(wide), used)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Text) != narrow {
		t.Errorf("it becomes\n%s", got.Text)
	}
	var says []string
	for _, n := range got.Narrowed {
		says = append(says, fmt.Sprintf("%s, line %d: %s", n.At, n.Position.Line, n.Message))
	}
	want := "executables.go.args.3, line 12: no run used `go vet ...`\nexecutables.unused, line 15: no run used it\nexecutables.make.args, line 21: `any` becomes what was used, in 2 rule(s)\nexecutables.sh.args, line 22: `any` becomes what was used, in 1 rule(s)"
	if text := strings.Join(says, "\n"); text != want || len(got.Kept) > 0 {
		t.Errorf("it says\n%s\nand kept %+v", text, got.Kept)
	}
	// Once it is narrow there is nothing more.
	if again, err := learn.Narrow("p.yaml", got.Text, used); err != nil || string(again.Text) != narrow || len(again.Narrowed) > 0 {
		t.Errorf("%v, %+v\n%s", err, again.Narrowed, again.Text)
	}
}

// What isn't known to the last word is no reason to take anything away, and a policy
// isn't emptied.
func TestNarrowKeeps(t *testing.T) {
	t.Parallel()
	for name, it := range map[string]struct {
		text string
		used []learn.Use
		kept string
	}{
		"no run":      {strings.ReplaceAll(wide, "  - allow: [go, build]\n", "  - refuse: [rm]\n"), nil, ""},
		"cut short":   {narrow, []learn.Use{{Program: "/bin/go"}, use("make", "all"), use("make", "check"), use("make", "-j", "4"), use("sh", "-c", "<x>")}, "aren't known to the last word"},
		"other rules": {narrow, []learn.Use{use("go", "build"), use("go", "test", "./x"), use("make", "clean"), use("sh", "-c", "<x>")}, "aren't there any more"},
	} {
		got, err := learn.Narrow("p.yaml", []byte(it.text), it.used)
		if err != nil || string(got.Text) != it.text || len(got.Narrowed) > 0 {
			t.Errorf("%s: %v, %+v\n%s", name, err, got.Narrowed, got.Text)
		}
		kept := ""
		for _, k := range got.Kept {
			kept += k.Message
		}
		if !strings.Contains(kept, it.kept) || it.kept == "" && kept != "" {
			t.Errorf("%s: it keeps %q", name, kept)
		}
	}
	var many []learn.Use
	for i := range 200 {
		many = append(many, use("make", fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(i)))
	}
	got, err := learn.Narrow("p.yaml", []byte(wide), many)
	if err != nil || !strings.Contains(string(got.Text), "args: any # for now") || len(got.Kept) != 1 || !strings.Contains(got.Kept[0].Message, "takes more than 40 rules") {
		t.Errorf("%v, %+v", err, got.Kept)
	}
}

// Where the text can't be changed by itself it is left as it is, and says so.
func TestNarrowByHand(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"in brackets": "version: 1\nroots: [{path: /a}]\nexecutables: [{name: go, path: /bin/go, args: [{allow: [build]}]}, {name: x, path: /bin/x, args: any}]\n",
		"needed elsewhere": "version: 1\nroots: [{path: /a}]\nexecutables:\n  - {name: go, path: /bin/go, args: [{allow: [build]}]}\n" +
			"  - {name: x, path: /bin/x, args: any}\nsecrets: {K: {file: /k, env_for: [x]}}\n",
	} {
		got, err := learn.Narrow("p.yaml", []byte(text), []learn.Use{use("go", "build")})
		if err == nil || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%s: %v\n%s", name, err, got.Text)
		}
	}
	if _, err := learn.Narrow("p.yaml", []byte("version: 1\nnonsense: ["), nil); err == nil {
		t.Error("nonsense is narrowed")
	}
}

// Whatever was run: it is allowed afterwards if it was before, and nothing is allowed
// that wasn't.
func TestNarrowNeverWidens(t *testing.T) {
	words := rapid.SampledFrom([]string{"go", "make", "sh", "unused", "test", "vet", "run", "build", "./...", "-x", "{", "a,b", "", "...", "=y", "<int>", "é", "any", "true", "a: b", "#"})
	argv := rapid.SliceOfN(words, 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		var used []learn.Use
		for _, words := range rapid.SliceOfN(argv, 0, 12).Draw(t, "used") {
			used = append(used, use(words...))
		}
		got, err := learn.Narrow("p.yaml", []byte(wide), used)
		if err != nil {
			t.Fatal(err)
		}
		was, _ := layered.Load("p.yaml", []byte(wide))
		is, faults := layered.Load("p.yaml", got.Text)
		if len(faults) > 0 {
			t.Fatalf("%v\n%s", faults, got.Text)
		}
		allows := func(before bool, argv []string) bool {
			file := is
			if before {
				file = was
			}
			e := file.Find(argv)
			if e == nil || e.Any {
				return e != nil
			}
			for _, r := range e.Rules() {
				if r.Rule.Match(argv[1:], func(string) bool { return true }).OK {
					return !r.Deny
				}
			}
			return false
		}
		for _, u := range used {
			if allows(true, u.Argv) && !allows(false, u.Argv) {
				t.Errorf("%q isn't allowed any more by\n%s", u.Argv, got.Text)
			}
		}
		for _, words := range rapid.SliceOfN(argv, 20, 20).Draw(t, "asked") {
			if allows(false, words) && !allows(true, words) {
				t.Errorf("%q is allowed now by\n%s", words, got.Text)
			}
		}
	})
}
