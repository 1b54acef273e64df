package lines

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A text is a Span in memory.
type text []byte

func (t text) Read(p []byte, off int64) error {
	if off < 0 || off+int64(len(p)) > int64(len(t)) {
		return errors.New("read beyond the end")
	}
	copy(p, t[off:])
	return nil
}

func draw(t *rapid.T) text {
	part := rapid.SampledFrom([]string{"\n", "\n\n", "short\n", "x", strings.Repeat("y", Max), strings.Repeat("z", Block-1), strings.Repeat("w", Max-1) + "\n"})
	return text(strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), ""))
}

func TestTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		total := int64(len(s))
		all := bytes.SplitAfter(s, []byte("\n"))
		if len(all[len(all)-1]) == 0 {
			all = all[:len(all)-1]
		}
		n := rapid.IntRange(1, 20).Draw(t, "n")
		most := rapid.SampledFrom([]int64{1, Block, 1 << 40}).Draw(t, "most")
		tail, found, err := Tail(s, total, int64(n), most)
		want := total - int64(len(bytes.Join(all[max(0, len(all)-n):], nil)))
		if err != nil || found && tail != want {
			t.Fatalf("tail %d at %d, want %d, %v", n, tail, want, err)
		}
		// What is read at once is looked at whole.
		if near := total-want < max(most, min(Block, total)); near && !found {
			t.Fatalf("tail %d of %d bytes isn't found within %d", n, total-want, most)
		}
	})
}

// Scans that go on where the last stopped see every line once, whole or its
// beginning, however little each looks at.
func TestScansGoOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		var got, want []string
		for l := range bytes.Lines(s) {
			if line := bytes.TrimSuffix(l, []byte("\n")); len(line) > Max {
				l = line[:Max]
			}
			want = append(want, string(l))
		}
		for at, rounds := int64(0), 0; at < int64(len(s)); rounds++ {
			x, err := Scan(s, int64(len(s)), true, at, rapid.Int64Range(1, 3*Max).Draw(t, "bytes"))
			if err != nil {
				t.Fatal(err)
			}
			for !x.Done() {
				l, err := x.Next()
				if err != nil || l.End <= x.At {
					t.Fatal(l.End, err)
				}
				got = append(got, string(l.Text))
				x.At = l.End
			}
			if x.At <= at {
				t.Fatalf("no way forward from %d", at)
			}
			at = x.At
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%d lines of %d bytes, want %d", len(got), len(s), len(want))
		}
	})
}
