package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock/internal/redact/written"
)

const secret = `s3cr/t+Kä"<y>&9~%`

// wrapped breaks text into lines.
func wrapped(text string, width int, end string) string {
	var b strings.Builder
	for len(text) > width {
		b.WriteString(text[:width] + end)
		text = text[width:]
	}
	return b.String() + text
}

// printed are ways in which programs print a value, with what may stay seen of
// them.
func printed(value string) map[string]string {
	std, web := base64.StdEncoding, base64.RawURLEncoding
	quoted, _ := json.Marshal(value)
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	ways := map[string]string{
		"itself": value, "query": url.QueryEscape(value), "path": url.PathEscape(value), "JSON": string(quoted), "plain JSON": plain.String(),
		"escaped slashes": strings.ReplaceAll(string(quoted), "/", `\/`), "lower escapes": written.LowerEscapes(url.QueryEscape(value)),
		"hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	for before := range 5 {
		text := strings.Repeat("u", before) + value + ":tail"
		ways[fmt.Sprint("base64 behind ", before)] = std.EncodeToString([]byte(text))
		ways[fmt.Sprint("base64 for URLs behind ", before)] = web.EncodeToString([]byte(text))
		for width := 1; width < 24; width++ {
			ways[fmt.Sprint("base64 of ", width, " behind ", before)] = wrapped(std.EncodeToString([]byte(text)), max(width, 4), "\r\n")
		}
	}
	return ways
}

// leak is what is seen of a value in text, by what a reader would undo.
func leak(text, value string) bool {
	joined := strings.NewReplacer("\r", "", "\n", "").Replace(text)
	for _, form := range slices.Concat(asWritten(value), encoded(value)) {
		if strings.Contains(text, form) || len(form) > 12 && strings.Contains(joined, form) {
			return true
		}
	}
	return false
}

func TestWhatProgramsPrint(t *testing.T) {
	t.Parallel()
	p := Compile(secret)
	for way, text := range printed(secret) {
		got := p.Hidden("before " + text + " behind\n")
		if leak(got, secret) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " behind\n") || len(got) != len(text)+15 {
			t.Errorf("%s: %q became %q", way, text, got)
		}
		if strings.Count(got, "*") < len(secret) {
			t.Errorf("%s: too little is hidden: %q", way, got)
		}
	}
}

// What libraries make of a value where it goes into a URL, and in JSON that is put into JSON.
func TestWhatLibrariesWrite(t *testing.T) {
	t.Parallel()
	const value = `s3cr/t+Kä"<y>&9~% =?a:b,c;d@$e!*'()#|^` + "`{}[]\\"
	inner, _ := json.Marshal(value)
	outer, _ := json.Marshal("x" + string(inner))
	part := url.URL{Scheme: "https", Host: "h", Path: "/" + value, User: url.UserPassword("ann", value), Fragment: value, RawQuery: url.Values{"q": {value}}.Encode()}
	p := Compile(value)
	for way, text := range map[string]string{
		"Python's quote":        `s3cr/t%2BK%C3%A4%22%3Cy%3E%269~%25%20%3D%3Fa%3Ab%2Cc%3Bd%40%24e%21%2A%27%28%29%23%7C%5E%60%7B%7D%5B%5D%5C`,
		"Python's quote_plus":   `s3cr%2Ft%2BK%C3%A4%22%3Cy%3E%269~%25+%3D%3Fa%3Ab%2Cc%3Bd%40%24e%21%2A%27%28%29%23%7C%5E%60%7B%7D%5B%5D%5C`,
		"encodeURI":             `s3cr/t+K%C3%A4%22%3Cy%3E&9~%25%20=?a:b,c;d@$e!*'()#%7C%5E%60%7B%7D%5B%5D%5C`,
		"encodeURIComponent":    `s3cr%2Ft%2BK%C3%A4%22%3Cy%3E%269~%25%20%3D%3Fa%3Ab%2Cc%3Bd%40%24e!*'()%23%7C%5E%60%7B%7D%5B%5D%5C`,
		"URLSearchParams":       `s3cr%2Ft%2BK%C3%A4%22%3Cy%3E%269%7E%25+%3D%3Fa%3Ab%2Cc%3Bd%40%24e%21*%27%28%29%23%7C%5E%60%7B%7D%5B%5D%5C`,
		"a query in a browser":  "s3cr/t+K%C3%A4%22%3Cy%3E&9~%%20=?a:b,c;d@$e!*%27()%23|^`{}[]\\",
		"a name in a browser":   `s3cr%2Ft+K%C3%A4%22%3Cy%3E&9~%%20%3D%3Fa%3Ab,c%3Bd%40$e!*'()%23%7C%5E%60%7B%7D%5B%5D%5C`,
		"a mark in a browser":   `s3cr/t+K%C3%A4%22%3Cy%3E&9~%%20=?a:b,c;d@$e!*'()#|^%60{}[]\`,
		"Go's path":             (&url.URL{Path: "/" + value}).String(),
		"Go's word of a path":   url.PathEscape(value),
		"Go's name":             url.UserPassword("ann", value).String(),
		"Go's fragment":         (&url.URL{Fragment: value}).String(),
		"all of a URL":          part.String(),
		"JSON in JSON":          string(outer),
		"JSON in JSON, no HTML": jsonOf(jsonOf(value, false), false),
	} {
		for name, text := range map[string]string{way: text, way + ", in lower case": written.LowerEscapes(text)} {
			got := p.Hidden(text)
			for _, piece := range []string{"3cr", "y%3", "9~", "9%7", "a:b", "a%3A", "a%3a", "%5B", "%5b", "[]"} {
				if strings.Contains(got, piece) {
					t.Errorf("%s: %q is seen in %q", name, piece, got)
				}
			}
		}
	}
}

func TestMoreThanALine(t *testing.T) {
	t.Parallel()
	value := "-----BEGIN KEY-----\nMIIBOgIBAAJBAK\nshort\nTRXq3Jxk5o+r9w\n-----END KEY-----\n"
	p := Compile(value)
	for in, want := range map[string]string{
		"-----BEGIN KEY-----":  "-----BEGIN KEY-----", // says nothing
		"  MIIBOgIBAAJBAK\r\n": "  **************\r\n",
		"short":                "short",
		value:                  "*******************\n**************\n*****\n**************\n*****************\n",
	} {
		if got := p.Hidden(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestShortValuesAreNotLookedFor(t *testing.T) {
	t.Parallel()
	if p := Compile("1234567", "", "\n\n\n\n\n\n\n\n\n"); p != nil {
		t.Error("short values have patterns")
	}
	var none *Patterns
	if got := none.Hidden("12345678"); got != "12345678" {
		t.Error(got)
	}
}

// Output isn't kept back for long: a line that is complete is given out, unless
// it ends in what may be the beginning of a broken form.
func TestWhatIsKeptBack(t *testing.T) {
	t.Parallel()
	s := Compile("swordfish").Stream()
	for _, step := range []struct{ in, out string }{
		{"password: ", "password: "}, {"s", ""}, {"wore\n", "swore\n"}, {"c\n", "c\n"}, {"c3dv\n", ""}, {"n!", "c3dv\nn!"},
		{"swordfis", ""}, {"h", "swordfish"}, {"swor", ""},
	} {
		if got, _ := s.Next([]byte(step.in)); string(got) != step.out {
			t.Errorf("after %q came %q, want %q", step.in, got, step.out)
		}
	}
	if got, spans := s.End(); string(got) != "swor" || len(spans) != 0 {
		t.Errorf("%q, %v", got, spans)
	}
}

// pieces runs text through a stream in pieces of random sizes and returns what
// came out, hidden.
func pieces(t *rapid.T, p *Patterns, text string) (out string, all []Span) {
	s := p.Stream()
	take := func(ready []byte, spans []Span) {
		at := int64(len(out))
		if !slices.IsSortedFunc(spans, func(a, b Span) int { return int(a.End() - b.Offset - 1) }) {
			t.Errorf("spans aren't in order and apart: %v", spans)
		}
		for _, f := range spans {
			if f.Offset < at || f.End() > at+int64(len(ready)) || f.Length <= 0 {
				t.Errorf("%v isn't in the piece of %d bytes at %d", f, len(ready), at)
			}
		}
		ready = slices.Clone(ready)
		Hide(ready, at, spans)
		out += string(ready)
		all = append(all, spans...)
	}
	for len(text) > 0 {
		n := rapid.IntRange(1, min(len(text), 40)).Draw(t, "piece")
		take(s.Next([]byte(text[:n])))
		text = text[n:]
	}
	take(s.End())
	return out, merged(all)
}

// However output is cut, nothing of a secret gets through, what is hidden is the
// same, and so are all other bytes; hiding again changes nothing.
func TestAnyPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.StringMatching(`[ab\n]{8,20}|[a-cX/+ =é"\n]{8,30}`)
		values := rapid.SliceOfN(few, 1, 3).Draw(t, "values")
		p := Compile(values...)
		var text strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			v := values[rapid.IntRange(0, len(values)-1).Draw(t, "which")]
			forms := append(slices.Concat(asWritten(v), encoded(v)), v[:len(v)/2], "\n", "x", "")
			form := rapid.SampledFrom(forms).Draw(t, "form")
			if rapid.Bool().Draw(t, "wrap") {
				form = wrapped(form, rapid.IntRange(3, 30).Draw(t, "width"), "\n")
			}
			text.WriteString(form)
		}
		got, spans := pieces(t, p, text.String())
		if want := p.Hidden(text.String()); got != want {
			t.Errorf("in pieces %q, whole %q", got, want)
		}
		if whole := p.Find([]byte(text.String())); !slices.Equal(whole, spans) {
			t.Errorf("in pieces %v, whole %v", spans, whole)
		}
		for _, v := range values {
			for _, part := range parts(v) {
				for _, form := range append(asWritten(part), encoded(part)...) {
					if strings.Contains(got, form) {
						t.Errorf("%q is seen in %q", form, got)
					}
				}
			}
		}
		if again := p.Hidden(got); again != got {
			t.Errorf("hiding again makes %q of %q", again, got)
		}
		for i := range got {
			if got[i] != text.String()[i] && got[i] != Mask {
				t.Errorf("byte %d is %q and was %q", i, got[i], text.String()[i])
			}
		}
	})
}

// Values that lie in, over and behind each other, in one line and in many, are hidden
// whole, in pieces of every size and at every place where a piece can end.
func TestValuesOverEachOther(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN KEY-----\nMIGkAgEBBDCaXm9T\nfLw4RzKc8Ye7Qh2v\n-----END KEY-----"
	values := []string{"abcdefghijkl", "ijklmnopqrst", "cdefghij", "aaaaaaaa", "aaaaaaaab", key, "fLw4RzKc8Ye7Qh2v\nnext line"}
	p := Compile(values...)
	for text, want := range map[string]string{
		"<abcdefghijklmnopqrst>":        "<********************>",
		"<abcdefghijklabcdefghij>":      "<************ab********>",
		"<xcdefghijx>":                  "<x********x>",
		"<aaaaaaaaaaab>":                "<************>",
		"<" + key + ">":                 "<" + strings.Join([]string{strings.Repeat("*", 19), strings.Repeat("*", 16), strings.Repeat("*", 16), strings.Repeat("*", 17)}, "\n") + ">",
		"<fLw4RzKc8Ye7Qh2v\nnext line>": "<" + strings.Repeat("*", 16) + "\n*********>",
	} {
		for size := 1; size <= len(text); size++ {
			for first := 1; first <= size; first++ {
				s, out, at := p.Stream(), "", int64(0)
				take := func(ready []byte, spans []Span) {
					ready = slices.Clone(ready)
					Hide(ready, at, spans)
					out, at = out+string(ready), at+int64(len(ready))
				}
				left := []byte(text)
				for n := first; len(left) > 0; n = size {
					n = min(n, len(left))
					take(s.Next(left[:n]))
					left = left[n:]
				}
				if take(s.End()); out != want {
					t.Fatalf("%q in pieces of %d, the first of %d: %q", text, size, first, out)
				}
			}
		}
	}
}

// What is kept back stays small, whatever is printed.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	p := Compile(secret, strings.Repeat("ab", 100))
	most := 3 * p.loose.most
	for _, text := range []string{strings.Repeat("ab", 99), strings.Repeat(secret, 50), "YWJh\nYmFi\n\n" + strings.Repeat("\n", 500), hex.EncodeToString([]byte(strings.Repeat("ab", 99))) + "\n"} {
		s := p.Stream()
		for range 200 {
			for i := range text {
				s.Next([]byte{text[i]})
				if len(s.held) > most || len(s.open) > most {
					t.Fatalf("%d bytes and %d spans are kept back", len(s.held), len(s.open))
				}
			}
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("swordfish", "a swordfish c3dvcmRm\naXNo", 3)
	f.Add(secret, url.QueryEscape(secret)+"\x00\xff", 1)
	f.Add("aaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 5)
	f.Fuzz(func(t *testing.T, value, text string, size int) {
		if strings.Contains(value, "*") || len(value) > 200 || len(text) > 4000 {
			return
		}
		p, size := Compile(value), max(1, min(size, 4000))
		s, out := p.Stream(), ""
		take := func(ready []byte, spans []Span) {
			ready = slices.Clone(ready)
			Hide(ready, int64(len(out)), spans)
			out += string(ready)
		}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			take(s.Next([]byte(rest[:n])))
			rest = rest[n:]
		}
		take(s.End())
		if out != p.Hidden(text) || len(out) != len(text) {
			t.Errorf("%q in pieces, %q whole", out, p.Hidden(text))
		}
		if whole := parts(value); whole != nil && strings.Contains(out, whole[0]) {
			t.Errorf("%q shows %q", out, value)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	text, err := os.ReadFile("redact_test.go")
	if err != nil {
		b.Fatal(err)
	}
	s := Compile("ghp_16C7e42F292c6912E7710c838347Ae178B4a", secret).Stream()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.Next(text)
	}
}
