package keyboard

import "testing"

func TestLeaver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pieces []string
		want   string
		left   bool
	}{
		{[]string{"abc"}, "abc", false},
		{[]string{"a\x10\x11b"}, "a", true},
		{[]string{"a\x10", "\x11"}, "a", true},
		{[]string{"a\x10", "b"}, "a\x10b", false},
		{[]string{"\x10\x10\x11"}, "\x10", true},
		{[]string{"\x11\x10", "", "\x10", "x"}, "\x11\x10\x10x", false},
	} {
		var l leaver
		got, left := "", false
		for _, p := range c.pieces {
			if !left {
				var rest []byte
				rest, left = l.pass([]byte(p))
				got += string(rest)
			}
		}
		if got != c.want || left != c.left {
			t.Errorf("%q: %q, %t", c.pieces, got, left)
		}
	}
}
