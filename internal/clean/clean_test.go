package clean

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var modes = []Mode{Text, Color, Live}

func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, text, color, live string }{
		{"plain", "one\ttwo\nthree", "one\ttwo\nthree", "", ""},
		{"colour", "\x1b[31mred\x1b[0m\n", "red\n", "\x1b[0;31mred\n\x1b[0m", "\x1b[0;31mred\n\x1b[0m"},
		{"colour in full", "\x1b[1;38;5;200;48;2;1;2;3mx\x1b[m", "x", "\x1b[0;1;38;5;200;48;2;1;2;3mx\x1b[0m", "\x1b[0;1;38;5;200;48;2;1;2;3mx\x1b[0m"},
		{"colour with colons", "\x1b[38:2::9:8:7mx\x1b[39;4:3my\x1b[4:0m", "xy", "\x1b[0;38;2;9;8;7mx\x1b[0;4my\x1b[0m", "\x1b[0;38;2;9;8;7mx\x1b[0;4my\x1b[0m"},
		{"invisible and blinking", "\x1b[8;5mx", "x", "x", "x"},
		{"red on red", "\x1b[31;41mx", "x", "\x1b[0mx\x1b[0m", "\x1b[0mx\x1b[0m"},
		{"progress", "10%\r 50%\r100%\n", "100%\n", "100%\n", "10%\r 50%\r100%\n"},
		{"progress that is shorter", "abcdef\rxy\x1b[K\n", "xy\n", "xy\n", "abcdef\rxy\x1b[K\n"},
		{"erased line", "abc\x1b[2K\x1b[1Gdone\n", "done\n", "done\n", "abc\x1b[2K\rdone\n"},
		{"line of Windows", "one\r\ntwo\r\n", "one\ntwo\n", "one\ntwo\n", "one\r\ntwo\r\n"},
		{"spinner", "|\b/\b-\b done\n", " done\n", " done\n", "|\b/\b-\b done\n"},
		{"title", "a\x1b]0;rm -rf\x07b\x1b]2;x\x1b\\c\n", "abc\n", "abc\n", "abc\n"},
		{"link", "\x1b]8;;http://h/\x1b\\text\x1b]8;;\x1b\\\n", "text\n", "text\n", "text\n"},
		{"clipboard", "\x1b]52;c;cm0gLXJm\x07\n", "\n", "\n", "\n"},
		{"device strings", "a\x1bPq#0\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d\x1bXz\x1b\\e\n", "abcde\n", "abcde\n", "abcde\n"},
		{"never ended", "a\x1b]0;hidden\nshown\n", "a\nshown\n", "a\nshown\n", "a\nshown\n"},
		{"screen", "a\x1b[2J\x1b[H\x1b[5A\x1b[?1049h\x1b[6n\x1b[>cb\n", "ab\n", "ab\n", "ab\n"},
		{"alternate characters", "\x1b(0a\x1b)Bb\x1bcc\n", "abc\n", "abc\n", "abc\n"},
		{"C1 as UTF-8", "\u009b31mx\n", `\u009b31mx` + "\n", `\u009b31mx` + "\n", `\u009b31mx` + "\n"},
		{"C1 as a byte", "\x9b31mx\n", "\ufffd31mx\n", "\ufffd31mx\n", "\ufffd31mx\n"},
		{"controls", "a\x00b\x07c\x7f\x0e\n", `a\x00bc\x7f\x0e` + "\n", `a\x00bc\x7f\x0e` + "\n", `a\x00bc\x7f\x0e` + "\n"},
		{"direction", "a\u202eb\u2066\n", `a\u202eb\u2066` + "\n", `a\u202eb\u2066` + "\n", `a\u202eb\u2066` + "\n"},
		{"no width", "a\u200bb\ufeff\u00ad\u2028\n", `a\u200bb\ufeff\u00ad\u2028` + "\n", `a\u200bb\ufeff\u00ad\u2028` + "\n", `a\u200bb\ufeff\u00ad\u2028` + "\n"},
		{"tags", "a\U000e0041\U000e0101\n", `a\U000e0041\U000e0101` + "\n", `a\U000e0041\U000e0101` + "\n", `a\U000e0041\U000e0101` + "\n"},
		{"picture", "❤\ufe0f\ufe0e\n", "❤\ufe0f\\ufe0e\n", "❤\ufe0f\\ufe0e\n", "❤\ufe0f\\ufe0e\n"},
		{"not UTF-8", "caf\xe9 \xf0\x9f\n\xc3", "caf\ufffd \ufffd\ufffd\n\ufffd", "caf\ufffd \ufffd\ufffd\n\ufffd", "caf\ufffd \ufffd\ufffd\n\ufffd"},
		{"far to the right", "\x1b[999999Cx\x1b[G\x1b[3Cy\n", "   y" + strings.Repeat(" ", maxGap-4) + "x\n", "   y" + strings.Repeat(" ", maxGap-4) + "x\n", "x\ry\n"},
		{"given up", "a\x1b[31\x18b\x1b[1\x1b[0mc\x1b[3\td\n", "abc\td\n", "abc\td\n", "abc\td\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.color == "" {
				c.color, c.live = c.text, c.text
			}
			for mode, want := range map[Mode]string{Text: c.text, Color: c.color, Live: c.live} {
				if got := string(Bytes([]byte(c.in), mode)); got != want {
					t.Errorf("mode %d: %q, want %q", mode, got, want)
				}
			}
		})
	}
}

// allowed is all that a terminal may find beside text.
var allowed = map[Mode]*regexp.Regexp{
	Text:  regexp.MustCompile(`[\n\t]`),
	Color: regexp.MustCompile(`[\n\t]|\x1b\[0(;[0-9]{1,3})*m`),
	Live:  regexp.MustCompile(`[\n\t\r\x08]|\x1b\[0(;[0-9]{1,3})*m|\x1b\[[12]?K`),
}

// check holds shown to what every view must be.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, in, shown []byte, mode Mode) {
	t.Helper()
	if !utf8.Valid(shown) {
		t.Fatalf("mode %d: %q shows as %q, which isn't UTF-8", mode, in, shown)
	}
	for _, r := range string(allowed[mode].ReplaceAll(shown, nil)) {
		if r < ' ' || r == 0x7f || hidden(r) && r != 0xfe0e && r != 0xfe0f {
			t.Fatalf("mode %d: %q shows as %q, with %U", mode, in, shown, r)
		}
	}
	if mode != Live && bytes.Count(in, []byte("\n")) != bytes.Count(shown, []byte("\n")) {
		t.Fatalf("mode %d: %q shows as %q: the lines aren't the same", mode, in, shown)
	}
	if last := bytes.LastIndex(shown, []byte("\x1b[0;")); last > bytes.LastIndex(shown, []byte("\x1b[0m")) {
		t.Fatalf("mode %d: %q shows as %q: a colour is never ended", mode, in, shown)
	}
}

// pieces shows in by pieces that end at the given places.
func pieces(in []byte, mode Mode, size func() int) []byte {
	var b bytes.Buffer
	w := New(&b, mode)
	for len(in) > 0 {
		n := min(max(1, size()), len(in))
		if m, err := w.Write(in[:n]); m != n || err != nil {
			panic("a buffer refused")
		}
		if w.Held() > 0 && w.state == ground && len(w.partial) == 0 {
			panic("nothing is held")
		}
		in = in[n:]
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Nothing forbidden comes out, and how the bytes are cut makes no difference.
func TestCutsMakeNoDifference(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 8),
		rapid.Map(rapid.SampledFrom([]string{
			"\x1b", "[", "]", "\x1b[", "\x1b]0;", "\x1b\\", "31", ";", "m", "K", "G", "\r", "\n", "\b", "text", "é", "🐎", "\u202e", "\u200d", "\ufe0f",
			"\xe2", "\x80", "\xae", "\u009b", "\x18", "\a", "\x1b[38;5;", "\x1b[2K", "\x1b[9C", strings.Repeat("long ", maxLine/4),
		}), func(s string) []byte { return []byte(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		in := bytes.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), nil)
		for _, mode := range modes {
			whole := Bytes(in, mode)
			check(t, in, whole, mode)
			cut := pieces(in, mode, func() int { return rapid.SampledFrom([]int{1, 2, 3, 7, 1 << 20}).Draw(t, "size") })
			if !bytes.Equal(whole, cut) {
				t.Fatalf("mode %d: %q shows as %q whole, as %q in pieces", mode, in, whole, cut)
			}
		}
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain\n", "\x1b[31mred\x1b[0m", "10%\r20%\n", "\x1b]0;t\x07", "\xe2\x80\xae\x1b[", "\x1b[38:2::1:2:3m\x1b[48;5;9mx", "a\x1b[2K\x1b[5Gb\bc"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		for _, mode := range modes {
			whole := Bytes(in, mode)
			check(t, in, whole, mode)
			if cut := pieces(in, mode, func() int { return size }); !bytes.Equal(whole, cut) {
				t.Fatalf("mode %d: %q shows as %q whole, as %q in pieces of %d", mode, in, whole, cut, size)
			}
		}
	})
}

// What is clean stays as it is.
func TestCleanTextIsTheSameTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Byte()).Draw(t, "in")
		once := Bytes(in, Text)
		if twice := Bytes(once, Text); !bytes.Equal(once, twice) {
			t.Fatalf("%q, then %q", once, twice)
		}
	})
}

// A string or a line without an end costs no memory to speak of.
func TestNoEndCostsNothing(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"\x1b]0;", "x", "\x1b[1;", "\x1b[31mx"} {
		for _, mode := range modes {
			var n counter
			w := New(&n, mode)
			block := bytes.Repeat([]byte(in), (64<<10)/len(in))
			for range 16 {
				if _, err := w.Write(block); err != nil {
					t.Fatal(err)
				}
			}
			if cap(w.line) > 2*maxLine || cap(w.params) > 2*maxParams || cap(w.out) > 1<<20 {
				t.Errorf("mode %d, %q: %d characters, %d of output", mode, in, cap(w.line), cap(w.out))
			}
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func TestWriterFails(t *testing.T) {
	t.Parallel()
	w := New(broken{}, Text)
	if _, err := w.Write([]byte("line\n")); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func BenchmarkClean(b *testing.B) {
	for name, line := range map[string]string{
		"plain": "a line of ordinary output, as programs print it\n", "colour": "\x1b[32mok\x1b[0m   a/package\t0.01s\n", "progress": "10%\r20%\r30%\r40%\n",
	} {
		for _, mode := range modes {
			b.Run(name+string(rune('0'+mode)), func(b *testing.B) {
				var n counter
				w := New(&n, mode)
				p := bytes.Repeat([]byte(line), (128<<10)/len(line))
				b.SetBytes(int64(len(p)))
				for b.Loop() {
					_, _ = w.Write(p)
				}
			})
		}
	}
}
