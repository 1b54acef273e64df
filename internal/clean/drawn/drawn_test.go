package drawn_test

import (
	"bytes"
	"strings"
	"testing"

	"paddock/internal/clean/drawn"
)

func pass(t testing.TB, pieces ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := drawn.New(&b)
	for _, p := range pieces {
		if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	return b.String()
}

func TestPasses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"text\r\n", "größer 漢字 \U0001f600", "\a\b\t\v\f", "\x1b[2J\x1b[1;1H", "\x1b[31;1mred\x1b[m", "\x1b[38:2::1:2:3m", "\x1b[?25l\x1b[?1049h\x1b[?2004h", "\x1b[?1000;1006h",
		"\x1b7\x1b8\x1b=\x1b>\x1bM\x1bc", "\x1b(0lqk\x1b(B", "\x0e\x0f", "\x1b[5;10r", "\x1b[2 q", "\x1b[!p", "\x1b[4h", "\x1b[3T", "\x1b[s\x1b[u", "\x1b#8", "\x1b[80b", drawn.Reset,
	} {
		if got := pass(t, s); got != s {
			t.Errorf("%q came out as %q", s, got)
		}
	}
}

// TestLeftOut: nothing passes that a terminal would answer, or that acts beyond the screen.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"\x05", "\x00", "\x7f", "\x1bZ", "\x1b[c", "\x1b[0c", "\x1b[>c", "\x1b[=c", "\x1b[5n", "\x1b[6n", "\x1b[?6n", "\x1b[?15n", "\x1b[21t", "\x1b[8;1;1t", "\x1b[14t", "\x1b[x", "\x1b[i", "\x1b[5i",
		"\x1b[?25$p", "\x1b[4$p", "\x1b[>q", "\x1b[>0q", "\x1b[?u", "\x1b[>1u", "\x1b[?1m", "\x1b[>4;1m", "\x1b[?1;1;0S", "\x1b[1;2;3;4;5T", "\x1b[2;1y", "\x1b[2h", "\x1b[20h", "\x1b[?2031h", "\x1b[?9001h", "\x1b[?25;9001h", "\x1b[1;1;1;1*y", "\x1b[?h", "\x1b[1?u", "\x1b[1>4;1m", "\x1b[4;?25m", "\x1b[?>J", "\x1b[99999b",
		"\x1b]0;title\a", "\x1b]52;c;aGk=\a", "\x1b]52;c;?\x1b\\", "\x1b]11;?\a", "\x1b]4;1;?\x1b\\", "\x1b]8;;http://x\a", "\x1b]1337;File=:AA\a", "\x1b]9;hi\a",
		"\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gi=1;AAAA\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\", "\x1b%@", "\x1b%G", "\x1b F", "\x1b G", "\x1b#3", "\x1b(Z", "\x1b $x",
		"\u009b6n", "\u009d52;c;?\a", "\u0090$qm\u009c", "\u0085", "\x1b[" + strings.Repeat("1;", 40) + "m", "\x1b[1", "\x1b", "\x1b]unending",
	} {
		if got := pass(t, s); got != "" {
			t.Errorf("%q came out as %q", s, got)
		}
		if got := pass(t, "a"+s+"\x18b"); got != "ab" {
			t.Errorf("%q between two letters came out as %q", s, got)
		}
	}
	for in, want := range map[string]string{
		"\x9b6n": "\ufffd6n", "\xff": "\ufffd", "\x1b[3\x1b[6nx": "x", "\x1b]0;a\x1b[31mx": "\x1b[31mx", "\x1b]0;a\x1b]11;?\ay": "y", "\x1b[3\n1m": "\n\x1b[31m", "\x1b[6\u00e9n": "\u00e9n", "\xc0\x9b6n": "\ufffd\ufffd6n",
	} {
		if got := pass(t, in); got != want {
			t.Errorf("%q came out as %q, want %q", in, got, want)
		}
	}
}

// FuzzPieces: how the bytes are cut changes nothing, and what came out passes again as it is.
func FuzzPieces(f *testing.F) {
	f.Add([]byte("a\x1b[31mü\x1b]52;c;?\x07\x1b[6n\x9b\xc2"), 3)
	f.Add([]byte("\x1b[\x1b[6\x1b[?25hn"), 5)
	f.Add([]byte("\x1b\x18[6n\x1bP\x1b\x1b\\"), 1)
	f.Fuzz(func(t *testing.T, all []byte, cut int) {
		whole := pass(t, string(all))
		if cut = max(0, min(cut, len(all))); pass(t, string(all[:cut]), string(all[cut:])) != whole {
			t.Fatalf("%q cut at %d comes out otherwise", all, cut)
		}
		one := make([]string, 0, len(all))
		for _, c := range all {
			one = append(one, string([]byte{c}))
		}
		if pass(t, one...) != whole {
			t.Fatalf("%q comes out otherwise byte by byte", all)
		}
		if again := pass(t, whole); again != whole {
			t.Fatalf("%q comes out as %q, and that as %q", all, whole, again)
		}
		for _, bad := range []string{"\x05", "\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1bZ"} {
			if strings.Contains(whole, bad) {
				t.Fatalf("%q comes out as %q", all, whole)
			}
		}
	})
}
