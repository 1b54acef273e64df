package redact

import (
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Shown bytes are text that shows bytes, and where it shows each of them.
type shownBytes struct {
	strings.Builder
	places [][]Span
}

func (w *shownBytes) show(i int, text string) {
	w.places[i] = append(w.places[i], Span{int64(w.Len()), int64(len(text))})
	w.WriteString(text)
}

// A layout is how a program dumps bytes.
type layout struct {
	name                   string
	offset                 string // before each line
	width, group           int    // bytes of a line, and of a group
	little                 bool   // the last byte of a group is its first
	before, between, after string // of groups, and of lines
	middle                 string // instead of between, behind half of a line
	left, right            string // of what is shown as characters; nothing where left is empty
	upper                  bool
	end                    string
}

var layouts = []layout{
	{name: "xxd", offset: "%08x: ", width: 16, group: 2, between: " ", left: "  "},
	{name: "xxd -u -g1", offset: "%08x: ", width: 16, group: 1, between: " ", left: "  ", upper: true},
	{name: "xxd -g16 -c 32", offset: "%08x: ", width: 32, group: 16, between: " ", left: "  "},
	{name: "xxd -c 7", offset: "%08x: ", width: 7, group: 2, between: " ", left: "  "},
	{name: "xxd -c1", offset: "%08x: ", width: 1, group: 1, left: "  "},
	{name: "xxd -e", offset: "%08x: ", width: 16, group: 4, little: true, between: " ", left: "  "},
	{name: "xxd -p", width: 30, group: 30},
	{name: "xxd -i", width: 12, group: 1, before: "  ", between: ", 0x", after: ","},
	{name: "hexdump -C", offset: "%08x  ", width: 16, group: 1, between: " ", middle: "  ", left: "  |", right: "|"},
	{name: "hexdump", offset: "%07x ", width: 16, group: 2, little: true, between: " "},
	{name: "od -A x -t x1z", offset: "%06x ", width: 16, group: 1, between: " ", left: "  >", right: "<"},
	{name: "od -t x1", offset: "%07o ", width: 16, group: 1, between: " "},
	{name: "od -An -t x1", width: 16, group: 1, before: " ", between: " "},
	{name: "od -x", offset: "%07o ", width: 16, group: 2, little: true, between: " "},
	{name: "od -t x4", offset: "%07o ", width: 16, group: 4, little: true, between: " "},
	{name: "od -An -t x8", width: 16, group: 8, little: true, before: " ", between: " "},
	{name: "od -An -v -t x1 -w1", width: 1, group: 1, before: " "},
	{name: "openssl", width: 15, group: 1, before: "    ", between: ":", after: ":"},
	{name: "fold", width: 1, group: 1},
	{name: "two digits", width: 8, group: 1, between: " "},
	{name: "wireshark", offset: "%04x  ", width: 16, group: 1, between: " ", left: "   "},
	{name: "CRLF", offset: "%08x: ", width: 16, group: 2, between: " ", left: "  ", end: "\r"},
}

// dumped is data as a program dumps it.
func (l layout) dumped(data string) *shownBytes {
	w := &shownBytes{places: make([][]Span, len(data))}
	digits := func(i int) {
		text := hex.EncodeToString([]byte{data[i]})
		if l.upper {
			text = strings.ToUpper(text)
		}
		w.show(i, text)
	}
	for at := 0; at < len(data); at += l.width {
		n := min(l.width, len(data)-at)
		if l.offset != "" {
			fmt.Fprintf(w, l.offset, at)
		}
		w.WriteString(l.before)
		if strings.HasSuffix(l.between, "0x") {
			w.WriteString("0x")
		}
		for k := 0; k < n; k += l.group {
			switch {
			case k > 0 && k == l.width/2 && l.middle != "":
				w.WriteString(l.middle)
			case k > 0:
				w.WriteString(l.between)
			}
			size := min(l.group, n-k)
			for j := range size {
				if l.little {
					j = size - 1 - j
				}
				digits(at + k + j)
			}
		}
		w.WriteString(l.after)
		if l.left != "" {
			w.WriteString(strings.Repeat(" ", 3*(l.width-n)) + l.left) // as wide as other lines
			for i := at; i < at+n; i++ {
				shown := data[i : i+1]
				if data[i] < ' ' || data[i] > '~' {
					shown = "."
				}
				w.show(i, shown)
			}
			w.WriteString(l.right)
		}
		w.WriteString(l.end + "\n")
	}
	return w
}

// shown is what is seen of data[from:to] in out.
func (w *shownBytes) shown(out string, from, to int) string {
	for i := from; i < to; i++ {
		for _, p := range w.places[i] {
			if seen := out[p.Offset:p.End()]; strings.Trim(seen, "* \n") != "" {
				return fmt.Sprintf("byte %d as %q", i-from, seen)
			}
		}
	}
	return ""
}

// A value in a dump is hidden wherever in its lines it begins, in digits and as characters.
func TestDumps(t *testing.T) {
	t.Parallel()
	for _, value := range []string{secret, "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "deadbeefcafe0123456789abcdefdeadbeefcafe", "eightchr"} {
		p := Compile(value)
		for _, l := range layouts {
			for before := range 33 {
				if l.little && before%l.group != 0 && l.group > 2 {
					continue // what is put in the last group is the rest of it
				}
				data := strings.Repeat("~", before) + value + strings.Repeat("~", 48-before)
				w := l.dumped(data)
				out := p.Hidden(w.String())
				if seen := w.shown(out, before, before+len(value)); seen != "" {
					t.Errorf("%s behind %d: %s is seen:\n%s\n%s", l.name, before, seen, w, out)
					break
				}
				if len(out) != w.Len() || strings.Count(out, "\n") != strings.Count(w.String(), "\n") {
					t.Errorf("%s behind %d: other lines:\n%s", l.name, before, out)
				}
				if begin, got := strings.TrimSuffix(w.String()[:w.places[before][0].Offset], "0x"), out; !strings.HasPrefix(got, begin) && !l.little {
					t.Errorf("%s behind %d: something before it is hidden:\n%s", l.name, before, out)
				}
				if last := strings.LastIndexByte(strings.TrimSuffix(out, "\n"), '\n'); l.width > 1 && out[last:] != w.String()[last:] && before < 16 && l.width < 16 {
					t.Errorf("%s behind %d: what is far behind is hidden:\n%s", l.name, before, out)
				}
			}
		}
	}
}

// Where nothing of a value is, nothing is hidden, and little is kept back.
func TestWhatIsNoDump(t *testing.T) {
	t.Parallel()
	p := Compile("swordfish")
	for _, text := range []string{
		"0000000 7773 726f 6664 7369\n0000008\n", "73 77 6f 72 64 66 69 x 73 68\n", "73 77 6f 72 64 66 69\nthe end\n73 68\n", "7377 6f72 6466 697\n68\n",
		"73 77 6f 72      64 66 69 73 68\n", "73 77 6f 72 is much more than what stands beside\n64 66 69 73 68\n", strings.Repeat("12 ", 1000) + "\n",
		"a: 1, b: 2\n\n\n10:45:33 go\n12%\r13%\r\n", "0x\n0x73\n\\x73\n",
	} {
		if got := p.Hidden(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	s := p.Stream()
	for _, step := range []struct{ in, out string }{
		{"12", ""}, {"!", "12!"}, {"\n1", "\n"}, {" ", "1 "}, {"73 77", ""}, {" 6f ", ""}, {"12 ", "73 77 6f 12 "}, {"\n", "\n"}, {"00000000: 7377 ", "00000000: "},
		{"6f72 00  swor.\n", "7377 6f72 00  swor.\n"}, {"73\n77\n6f\n", ""}, {"so\n", "73\n77\n6f\nso\n"},
	} {
		if got, _ := s.Next([]byte(step.in)); string(got) != step.out {
			t.Errorf("after %q came %q, want %q", step.in, got, step.out)
		}
	}
}

// What is in no form of lines: base32, HTML and lists of bytes.
func TestOtherForms(t *testing.T) {
	t.Parallel()
	const value = `s3cr/t+Kä"<y>&9~%='` + "`x"
	p := Compile(value)
	ways := map[string]string{
		"HTML": html.EscapeString(value), "quotes": "s3cr/t+Kä&quot;&lt;y&gt;&amp;9~%=&#x27;`x", "xmlcharrefreplace": "s3cr/t+K&#228;\"&lt;y&gt;&amp;9~%='`x",
		"Mustache": "s3cr&#x2F;t+Kä&quot;&lt;y&gt;&amp;9~%&#x3D;&#39;&#x60;x", "PHP": "s3cr/t+Kä&quot;&lt;y&gt;&amp;9~%=&#039;`x", "text": `s3cr/t+Kä"&lt;y&gt;&amp;9~%='` + "`x",
		"bytes": fmt.Sprintf("%v", []byte(value)), "Go": fmt.Sprintf("%#v", []byte(value)), "x": fmt.Sprintf("% x", value), "X": fmt.Sprintf("% X", value),
	}
	var numbers []int
	for _, c := range []byte(value) {
		numbers = append(numbers, int(c))
		ways["shell"] += fmt.Sprintf(`\x%02x`, c)
		ways["URL"] += fmt.Sprintf("%%%02X", c)
		ways["colons"] += fmt.Sprintf(":%02X", c)
	}
	for _, r := range value {
		ways["decimal"] += fmt.Sprintf("&#%d;", r)
		ways["hexadecimal"] += fmt.Sprintf("&#x%x;", r)
	}
	list, _ := json.Marshal(numbers)
	ways["Buffer"] = `{"type":"Buffer","data":` + string(list) + "}"
	for before := range 6 {
		text := strings.Repeat("u", before) + value + ":tail"
		ways[fmt.Sprint("base32 behind ", before)] = base32.StdEncoding.EncodeToString([]byte(text))
		ways[fmt.Sprint("wrapped behind ", before)] = wrapped(base32.StdEncoding.EncodeToString([]byte(text)), 8+before, "\n")
	}
	for way, text := range ways {
		got := p.Hidden("(" + text + ")")
		if leak(got, value) || len(got) != len(text)+2 || strings.Count(got, "*") < len(value) {
			t.Errorf("%s: %q became %q", way, text, got)
		}
	}
}

// However a dump is cut, the same is hidden, all of the value is, and hiding again changes nothing.
func TestDumpsInAnyPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ab0-3 ]{8,12}|[a-fX/+ =é"]{8,40}`).Draw(t, "value")
		p := Compile(value)
		filler := rapid.StringMatching(`[ab0-3* ]{0,40}`)
		front := filler.Draw(t, "front")
		data := front + value + filler.Draw(t, "back")
		l := rapid.SampledFrom(layouts).Draw(t, "layout")
		if l.little {
			data = front[:len(front)/l.group*l.group] + value + strings.Repeat(".", l.group)
			front = front[:len(front)/l.group*l.group]
		}
		w := l.dumped(data)
		ahead := rapid.SampledFrom([]string{"", "a line\n", "73 61\n", "\n\n"}).Draw(t, "ahead")
		text := ahead + w.String() + "and more"
		got, spans := pieces(t, p, text)
		if whole := p.Find([]byte(text)); got != p.Hidden(text) || !slices.Equal(whole, spans) {
			t.Errorf("in pieces %v, whole %v:\n%s", spans, whole, got)
		}
		if len(value) < MinValue || strings.TrimRight(value, "\r\n") != value {
			return
		}
		if seen := w.shown(got[len(ahead):], len(front), len(front)+len(value)); seen != "" {
			t.Errorf("%s: %s of %q is seen:\n%s\n%s", l.name, seen, value, text, got)
		}
		if again := p.Hidden(got); again != got {
			t.Errorf("hiding again makes of\n%s\n%s", got, again)
		}
	})
}

// A dump that goes on for ever doesn't hold more and more back.
func TestDumpsAreBounded(t *testing.T) {
	t.Parallel()
	p := Compile(strings.Repeat("ab", 100))
	s := p.Stream()
	line := "00000000: 61 " + strings.Repeat(" ", 900) + "\n00000000: 62 " + strings.Repeat(" ", 900) + "\n"
	for range 500 {
		s.Next([]byte(line))
		if len(s.held) > 24*p.bytes.most+2*mostLine || len(s.open) > 24*p.bytes.most {
			t.Fatalf("%d bytes are kept back", len(s.held))
		}
	}
}
