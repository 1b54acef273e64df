package preview

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Wherever valid text is cut, what is shown of it has no broken character.
func TestCutsSplitNoCharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		to := rapid.IntRange(from, len(text)).Draw(t, "to")
		got := string(Characters([]byte(text[from:to]), true, true))
		if strings.Count(got, "\uFFFD") != strings.Count(text[from:to], "\uFFFD") || !strings.Contains(text, got) {
			t.Fatalf("%q cut from %d to %d shows %q", text, from, to, got)
		}
		if whole := Characters([]byte(text), false, false); string(whole) != text {
			t.Fatalf("%q shows as %q", text, string(whole))
		}
	})
}

func FuzzCharacters(f *testing.F) {
	f.Add([]byte("漢"), true, true)
	f.Fuzz(func(t *testing.T, b []byte, front, back bool) {
		kept := bytes.Clone(b)
		if got := Characters(b, front, back); !utf8.ValidString(string(got)) || len(got) > len(b) {
			t.Errorf("%q shows as %q", b, string(got))
		}
		if !bytes.Equal(kept, b) {
			t.Error("the input was changed")
		}
	})
}

func TestSharesFillTheRoom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(1, 3000).Draw(t, "a"), rapid.IntRange(1, 3000).Draw(t, "b")
		room := Most - len(stdoutHeading) - len(stderrHeading)
		x, y := shares(a, b, room)
		switch {
		case x > min(a, mostTail) || y > min(b, mostTail) || x+y > room || x < 1 || y < 1:
			t.Fatalf("%d and %d share %d as %d and %d", a, b, room, x, y)
		case x+y < min(room, min(a, mostTail)+min(b, mostTail)):
			t.Fatalf("%d and %d leave room: %d and %d", a, b, x, y)
		}
	})
}
