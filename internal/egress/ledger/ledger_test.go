package ledger

import (
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	const line = `{"verdict":"refused","host":"example.com","port":443}` + "\n"
	for _, c := range []struct {
		name, text string
		entries    int
		good       bool
	}{
		{"nothing", "", 0, true},
		{"two", line + line, 2, true},
		{"a crash in the second", line + line[:20], 1, true},
		{"something else", line + "x\n", 1, false},
		{"another type", line + "[1]\n" + line, 1, false},
		{"a NUL", line + "\x00\n", 1, false},
		{"far too long", strings.Repeat(line, 100_000), most / len(line), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(strings.NewReader(c.text))
			if len(got) != c.entries || (err == nil) != c.good {
				t.Errorf("%d entries, %v; want %d, good %v", len(got), err, c.entries, c.good)
			}
		})
	}
}
