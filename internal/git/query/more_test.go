package query

import (
	"slices"
	"strings"
	"testing"

	"paddock/internal/git/query/command"
)

func TestPatterns(t *testing.T) {
	for _, p := range []string{"a", "a.*b", `\bfoo\b`, `func \w+\(`, `^\s*#`, `a|b`, "(ab)+", "[*+?]", "[]x]", "[^]x]", "[[:alpha:]_]+", `\\d`, `\.`, "a{2,3}", `\<x\>`, "-x", "--output=x", "é", `\$`, "[a-z]{1,1000}"} {
		if err := (Grep{Pattern: p}).Check(); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range []string{"", `\d+`, `\D`, "(?i)x", "(?=x)", "a*?", "a+?", "a??", "a{2}+", "a**", `[\w]`, `\1`, `(a)\1`, `\x41`, `\pL`, `\A`, `\z`, `\Q`, "[", "(", "a{1,1001}", "(" + strings.Repeat("ab", 100) + "){1,1000}", "((a{1,100}){1,100}){1,100}", "[[.a.]]", "[[=a=]]", "[[:x", "a\nb", "a\x00", "\xff", strings.Repeat("a", MaxPattern+1), `\`, `\é`} {
		if err := (Grep{Pattern: p}).Check(); err == nil {
			t.Errorf("%q passes", p)
		}
	}
	for _, p := range []string{"[", "(", `\`, `\d`, "a**", "(?x"} {
		if err := (Grep{Pattern: p, Fixed: true}).Check(); err != nil {
			t.Errorf("%q as it is: %v", p, err)
		}
	}
}

func TestBoundsOfQuestions(t *testing.T) {
	for _, q := range []Query{
		Status{Untracked: "some"}, Status{Untracked: "--output=x"}, Grep{Pattern: "a", Before: -1}, Grep{Pattern: "a", After: MaxContext + 1}, Grep{Pattern: "a", Ref: "a..b"}, Grep{Pattern: "a", Ref: "-x"},
		Branches{Kind: "all"}, Branches{Count: MaxRefs + 1}, Branches{Count: -1}, Cat{}, Cat{In: "a", Ref: "HEAD:a"}, Cat{In: "a", Offset: -1}, Cat{In: "a", Offset: 1, Line: 1}, Cat{In: "a", Limit: 1 << 20}, Cat{In: "a", Lines: -1}, Cat{In: "a", Line: -1},
	} {
		if q.Check() == nil {
			t.Errorf("%#v passes", q)
		}
	}
	for _, q := range []Query{Status{}, Status{Untracked: "all"}, Grep{Pattern: "a", Before: MaxContext}, Branches{}, Branches{Kind: "tags", Count: MaxRefs}, Cat{In: "a"}, Cat{In: "a", Line: 5, Lines: 3}} {
		if err := q.Check(); err != nil {
			t.Errorf("%#v: %v", q, err)
		}
	}
	if !(Grep{Pattern: "a"}).Worktree() || (Grep{Pattern: "a", Ref: "x"}).Worktree() || !(Status{}).Worktree() {
		t.Error("it isn't known what reads the working tree")
	}
}

// A pattern stands behind -e, a path behind --, and nothing else of what a caller
// sends is a word of the command.
func FuzzMoreCommands(f *testing.F) {
	f.Add("HEAD~1", "a/b", "x.*y", 5)
	f.Add("--output=x", "--output=x", "--open-files-in-pager=x", -1)
	f.Add("main@{1}", ":(top)", "-e", 0)
	f.Add("HEAD^{/x}", "../x", `\d`, 51)
	f.Add("", "", "--", 1000)
	f.Add("-Ox", "-", "(?x", 1001)
	f.Fuzz(func(t *testing.T, ref, name, pattern string, n int) {
		const id = "1111111111111111111111111111111111111111"
		place := command.Place{Dir: "/r/.git", Worktree: "/r"}
		for _, q := range []Query{
			Status{In: name, Untracked: pattern}, Status{In: name}, Grep{Ref: ref, In: name, Pattern: pattern, Before: n, After: n}, Grep{In: name, Pattern: pattern, Fixed: true, Count: true},
			Branches{Kind: ref, Count: n}, Branches{Count: n}, Cat{Ref: ref, In: name, Offset: int64(n)}, Cat{Ref: ref, In: name, Line: int64(n), Lines: int64(n), Limit: n, Raw: true},
		} {
			path, err := Within("/r", q.Path())
			if q.Check() != nil || err != nil {
				continue
			}
			words := place.Command(q.Args(slices.Repeat([]string{id}, len(q.Refs())), path), nil)
			args := words[len(place.Command(nil, nil)):]
			end := slices.Index(args, "--")
			if g, ok := q.(Grep); ok {
				at := slices.Index(args, "-e")
				if at < 0 || args[at+1] != g.Pattern {
					t.Fatalf("the pattern %q isn't where it belongs: %q", g.Pattern, args)
				}
				args = slices.Delete(slices.Clone(args), at, at+2)
				end = slices.Index(args, "--")
			}
			for i, w := range args {
				switch {
				case end >= 0 && i > end:
					if i != len(args)-1 || w != path {
						t.Errorf("%q stands behind --", w)
					}
				case i > 0 && !strings.HasPrefix(w, "--") && w != id && w != "-I" && w != "-z" && !strings.HasPrefix(w, "refs/"):
					t.Errorf("%q is a word of the command: %q", w, args)
				case strings.Contains(w, "output") || strings.Contains(w, "pager"):
					t.Errorf("%q is a flag of the command", w)
				}
			}
		}
	})
}
