package artifact

import (
	"bytes"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
)

var everyStream = []paddock.Stream{paddock.Stdout, paddock.Stderr, paddock.Combined}

// Whatever is appended, in whatever pieces, is read back the same: in pages of
// any size, text or raw, also by readers that read along while it is written.
func TestPagesReassemble(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	chunk := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 40),
		rapid.Map(rapid.SampledFrom([]string{"a", "é", "日本", "🐎", "\xc3", "\xa9", "\xf0\x9f", "\x90\x8e", "\r", "\n", "\x00", "line\n", "\xff", "\xe9t\xe9\n", "�"}),
			func(s string) []byte { return []byte(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer os.RemoveAll(dir)
		c := &clock{epoch}
		b, err := Create(dir, Options{Cap: 1 << 30, Now: c.now})
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer b.Close()
		r := Open(dir)
		want := map[paddock.Stream][]byte{}
		got := map[paddock.Stream][]byte{}
		limit := rapid.IntRange(1, 50)
		read := func(sealed bool) {
			for _, s := range everyStream {
				req := paddock.PageRequest{Stream: s, Offset: int64(len(got[s])), Limit: limit.Draw(t, "limit"), Raw: rapid.Bool().Draw(t, "raw")}
				p, err := r.Page(req, sealed)
				if err != nil {
					t.Fatalf("%v", err)
				}
				got[s] = append(got[s], content(t, p, req, sealed)...)
				if !bytes.HasPrefix(want[s], got[s]) {
					t.Fatalf("%s: got %q of %q", s, got[s], want[s])
				}
			}
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			s := rapid.SampledFrom(everyStream[:2]).Draw(t, "stream")
			p := chunk.Draw(t, "chunk")
			c.t = c.t.Add(time.Duration(rapid.IntRange(-2, 8).Draw(t, "ms")) * time.Millisecond)
			if n, over, err := b.Append(s, p); n != len(p) || over || err != nil {
				t.Fatalf("Append = %d, %v, %v", n, over, err)
			}
			want[s] = append(want[s], p...)
			want[paddock.Combined] = append(want[paddock.Combined], p...)
			if rapid.Bool().Draw(t, "read") {
				read(false)
			}
		}
		stdout, stderr, err := b.Seal()
		if err != nil {
			t.Fatalf("%v", err)
		}
		for s, sum := range map[paddock.Stream]paddock.StreamSummary{paddock.Stdout: stdout, paddock.Stderr: stderr} {
			if err := r.Verify(s, sum); err != nil {
				t.Fatalf("%v", err)
			}
		}
		for _, s := range everyStream {
			req := paddock.PageRequest{Stream: s, Offset: int64(len(got[s])), Limit: limit.Draw(t, "limit")}
			rest, _ := drain(t, r, req, true)
			if all := append(got[s], rest...); !bytes.Equal(all, want[s]) {
				t.Fatalf("%s: got %q, want %q", s, all, want[s])
			}
			var w bytes.Buffer
			if n, err := r.Copy(&w, s, 0); err != nil || n != int64(len(want[s])) || !bytes.Equal(w.Bytes(), want[s]) {
				t.Fatalf("%s: Copy = %d, %v, %q", s, n, err, w.Bytes())
			}
		}
	})
}
