package pattern

import (
	"regexp"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var pieces = []string{"", "x", "-", "--", "-v", "-n", "-n=1", "-n=", "-v=x", "1", "-1", "./x", "/x", "@x", "test", "x=1", "\x01", "é", "./.-", "./..-x", "...", "./...", "."}

var tokens = []string{"test", "x", "-v", "=--", "<word>", "<int>", "<path>", "<package>", "{test,-n,1}", "<re:-n.*>", "<re:[a-z]*>", "=..."}

// Word by word and all at once is the same.
func TestStepAgreesWithMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Source{Words: rapid.SliceOfN(rapid.SampledFrom(append([]string{"..."}, tokens...)), 0, 3).Draw(t, "words")}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"-v", "-n", "--long", "-1"}), 0, 3, rapid.ID).Draw(t, "flags") {
			s.Flags = append(s.Flags, Flag{name, rapid.SampledFrom(append([]string{"none"}, tokens...)).Draw(t, "value")})
		}
		s.Rest = rapid.SampledFrom([]string{"", "", "<word>...", "<path>...", "{x,-v}..."}).Draw(t, "rest")
		r, faults := Compile(s)
		if faults != nil {
			t.Skip("not a rule")
		}
		args := rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, "args")
		inside := map[string]bool{}
		for _, w := range args {
			inside[w] = w == "x" || rapid.Bool().Draw(t, "inside")
		}
		m := r.Match(args, func(w string) bool { return inside[w] || inside["-n="+w] && w == "1" })
		var state State
		for _, w := range args {
			in := inside[w]
			if w == "1" || w == "-n=1" {
				in = inside["1"] || inside["-n=1"]
			}
			if w == "-n=" {
				in = inside[""]
			}
			if w == "-v=x" {
				in = inside["x"]
			}
			state = r.Step(state, w, in)
		}
		if got, want := r.Accepts(state), m.OK && len(m.Outside) == 0; got != want {
			t.Fatalf("%q with %q: by steps %v, at once %v (%s, %q)", r.Form(), args, got, want, m.Why(), m.Outside)
		}
	})
}

// What the tokens are in RE2 is what they match.
func TestExpressionAgreesWithMatch(t *testing.T) {
	letters := []rune("xA0-./@~+=_ \n\t\u0085\u2028\u202e\u2066\u061cé\u200d\u00ad\x7f\ufffd日")
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom(letters), 0, 8, -1), rapid.StringMatching(`\./[.a/-]{0,6}`), rapid.StringMatching(`-?[0-9]{0,20}`), rapid.String()).Draw(t, "word")
		if !utf8.ValidString(word) {
			t.Skip("not a word")
		}
		for _, text := range tokens {
			token, err := ParseToken(text)
			if err != nil {
				t.Fatal(err)
			}
			if e := token.Expression(); e != "" && regexp.MustCompile(e).MatchString(word) != token.Match(word) {
				t.Fatalf("%s and %s differ on %q", text, e, word)
			}
		}
	})
}
