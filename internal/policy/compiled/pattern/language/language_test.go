package language_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/policy/compiled/pattern"
	"paddock/internal/policy/compiled/pattern/language"
)

type quiet interface {
	Helper()
	Fatalf(string, ...any)
}

func rule(t quiet, deny bool, words []string, flags map[string]string, rest string) language.Rule {
	t.Helper()
	s := pattern.Source{Words: words, Rest: rest}
	for name, value := range flags {
		s.Flags = append(s.Flags, pattern.Flag{Name: name, Value: value})
	}
	r, faults := pattern.Compile(s)
	if faults != nil {
		t.Fatalf("%v", faults)
	}
	return language.Rule{Pattern: r, Deny: deny}
}

func allow(t quiet, words ...string) language.Rule { return rule(t, false, words, nil, "") }
func deny(t quiet, words ...string) language.Rule  { return rule(t, true, words, nil, "") }

// decides is what package policy does, said once more in the plainest way.
func decides(l language.List, args []string, inside func(string) bool) bool {
	for _, r := range l {
		if r.Pattern == nil {
			return !r.Deny
		}
		in := inside
		if r.Deny {
			in = func(string) bool { return true }
		}
		if m := r.Pattern.Match(args, in); m.OK && len(m.Outside) == 0 {
			return !r.Deny
		}
	}
	return false
}

// more returns the shortest command that after allows and before doesn't.
func more(t quiet, before, after language.List) (example []string, found bool, err error) {
	t.Helper()
	s, err := language.New([]language.List{before, after}, language.Options{})
	if err != nil {
		return nil, false, err
	}
	err = s.Search(nil, func(f language.Found) bool {
		if s.Allowed(f, 1) && !s.Allowed(f, 0) {
			found = true
			for _, l := range f.Args {
				example = append(example, l.Word)
				if !l.Inside {
					example[len(example)-1] += "(outside)"
				}
			}
		}
		return !found
	})
	return example, found, err
}

func TestMore(t *testing.T) {
	none := map[string]string{"-v": "none"}
	tests := []struct {
		name          string
		before, after language.List
		want          string // "-" is nothing
	}{
		{"the same", language.List{allow(t, "test", "<word>")}, language.List{allow(t, "test", "<word>")}, "-"},
		{"a word more", language.List{allow(t, "test")}, language.List{allow(t, "{test,vet}")}, "vet"},
		{"a word less", language.List{allow(t, "{test,vet}")}, language.List{allow(t, "vet")}, "-"},
		{"from nothing", nil, language.List{allow(t)}, ""},
		{"any", language.List{allow(t, "...")}, language.List{{}}, "-"},
		{"from any", language.List{{}}, language.List{allow(t, "...")}, "-"},
		{"split in two", language.List{allow(t, "{a,b}", "<word>")}, language.List{allow(t, "a", "<word>"), allow(t, "b", "<word>")}, "-"},
		{"a denial gone", language.List{deny(t, "rm", "..."), allow(t, "...")}, language.List{allow(t, "...")}, "rm"},
		{"a denial too late", language.List{deny(t, "rm", "..."), allow(t, "<word>...")}, language.List{allow(t, "<word>..."), deny(t, "rm", "...")}, "rm"},
		{"an int is a word but for those below zero", language.List{allow(t, "<word>")}, language.List{allow(t, "<int>")}, "-"},
		{"a word is no int", language.List{allow(t, "<int>")}, language.List{allow(t, "<word>")}, "x"},
		{"a path leads outside", language.List{allow(t, "<path>")}, language.List{allow(t, "<word>")}, "x(outside)"},
		{"a path is no word", language.List{allow(t, "<word>")}, language.List{allow(t, "<path>")}, "/"},
		{"fewer digits", language.List{allow(t, "<re:[0-9]{1,3}>")}, language.List{allow(t, "<re:[0-9]{1,2}>")}, "-"},
		{"more digits", language.List{allow(t, "<re:[0-9]{1,2}>")}, language.List{allow(t, "<re:[0-9]{1,3}>")}, "111"},
		{"the same in other words", language.List{allow(t, "<re:(a|b)c?>")}, language.List{allow(t, "<re:a|b|ac|bc>")}, "-"},
		{"an expression over tokens", language.List{allow(t, "<word>")}, language.List{allow(t, "<re:[a-z]+>")}, "-"},
		{"a flag more", language.List{allow(t, "test")}, language.List{rule(t, false, []string{"test"}, none, "")}, "test --"},
		{"a flag with a wider value", language.List{rule(t, false, []string{"test"}, map[string]string{"-n": "<int>"}, "")},
			language.List{rule(t, false, []string{"test"}, map[string]string{"-n": "<re:[0-9a-f]+>"}, "")}, "test -n=a"},
		{"a flag with a narrower value", language.List{rule(t, false, []string{"test"}, map[string]string{"-n": "<int>"}, "")},
			language.List{rule(t, false, []string{"test"}, map[string]string{"-n": "{1,2}"}, "")}, "-"},
		{"the rest", language.List{allow(t, "a"), allow(t, "a", "<word>")}, language.List{allow(t, "a", "<word>...")}, "a x x"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			words, found, err := more(t, tc.before, tc.after)
			got := strings.Join(words, " ")
			if !found {
				got = "-"
			}
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func drawnList(t *rapid.T, name string) language.List {
	tokens := []string{"a", "b", "-v", "<word>", "<int>", "<path>", "{a,1}", "<re:[ab1]+>", "<re:-.*>", "<package>"}
	var l language.List
	for i := range rapid.IntRange(0, 3).Draw(t, name) {
		label := fmt.Sprint(name, i)
		s := pattern.Source{Words: rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 2).Draw(t, label)}
		switch rapid.IntRange(0, 4).Draw(t, label+" end") {
		case 0:
			s.Words = append(s.Words, "...")
		case 1:
			s.Rest = rapid.SampledFrom([]string{"<word>...", "<path>...", "{a,-v}..."}).Draw(t, label+" rest")
		case 2, 3:
			s.Flags = []pattern.Flag{{Name: "-n", Value: rapid.SampledFrom([]string{"none", "<int>", "<word>", "<path>", "a", "<re:[a1]>"}).Draw(t, label+" value")}}
		}
		r, faults := pattern.Compile(s)
		if faults != nil {
			continue
		}
		l = append(l, language.Rule{Pattern: r, Deny: rapid.IntRange(0, 2).Draw(t, label+" deny") == 0})
	}
	return l
}

// Whatever is allowed anew is found, and what is found is allowed anew.
func TestMoreIsExact(t *testing.T) {
	words := []string{"a", "b", "-v", "-n", "-n=1", "-n=a", "-n=x", "1", "-1", "x", "/x", "./x", "--", "@x", "", "-n=", "ab", "-x", "..", "é"}
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawnList(t, "before"), drawnList(t, "after")
		example, found, err := more(t, before, after)
		if err != nil {
			t.Fatal(err)
		}
		args := rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, "args")
		outside := rapid.SliceOfN(rapid.SampledFrom(words), 0, 3).Draw(t, "outside")
		inside := func(w string) bool { return !slices.Contains(outside, w) }
		if !found && decides(after, args, inside) && !decides(before, args, inside) {
			t.Fatalf("%q is allowed anew, and nothing was found", args)
		}
		if !found || strings.Contains(strings.Join(example, " "), "(outside)") {
			return
		}
		everywhere := func(string) bool { return true }
		if !decides(after, example, everywhere) || decides(before, example, everywhere) {
			t.Fatalf("%q was found, and isn't allowed anew", example)
		}
	})
}

func TestUnclear(t *testing.T) {
	if _, _, err := more(t, language.List{allow(t, `<re:\ba\b>`)}, language.List{allow(t, "<word>")}); err == nil {
		t.Error("an expression that looks around itself was compared")
	}
	var wide language.List
	for i := range 12 {
		wide = append(wide, allow(t, fmt.Sprintf("<re:.*%c.{%d}>", 'a'+i, i+5)))
	}
	if _, _, err := more(t, wide, language.List{{}}); !errors.Is(err, language.ErrTooLarge) {
		t.Errorf("got %v, want %v", err, language.ErrTooLarge)
	}
}

func TestWatch(t *testing.T) {
	s, err := language.New([]language.List{{rule(t, false, []string{"-name", "<word>"}, nil, "<re:.*>...")}}, language.Options{Apart: []string{`-exec(dir)?`}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = s.Search(func(state int, l language.Letter) int {
		if l.Word == "-exec" || l.Word == "-execdir" {
			return 1
		}
		return state
	}, func(f language.Found) bool {
		if f.Watched == 1 && s.Allowed(f, 0) {
			for _, l := range f.Args {
				got = append(got, l.Word)
			}
		}
		return got == nil
	})
	if err != nil || got != nil { // `<re:.*>` doesn't begin with a dash itself
		t.Errorf("got %q, %v", got, err)
	}
}

func TestKinds(t *testing.T) {
	var tokens []pattern.Token
	for _, text := range []string{"<path>", "<word>", "a"} {
		token, err := pattern.ParseToken(text)
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	words, err := language.Kinds(tokens)
	if err != nil || !slices.ContainsFunc(words, func(w string) bool { return tokens[0].Match(w) && !tokens[1].Match(w) }) {
		t.Errorf("got %q, %v", words, err)
	}
}
