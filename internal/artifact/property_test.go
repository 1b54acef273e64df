package artifact

import (
	"bytes"
	"os"
	"sync"
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

// Whatever is kept and dropped in whatever order, also by two pumps at once, and
// whenever the supervisor is gone: both streams are read as they were kept, and the
// frames say what was dropped, exactly once it is sealed and never too much before.
func TestDropsAreMarked(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer os.RemoveAll(dir)
		most := rapid.Int64Range(1, 30).Draw(t, "cap")
		b, err := Create(dir, Options{Cap: most})
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer b.Close()
		var pumps sync.WaitGroup
		var want [2][]byte
		var dropped [2]int64
		for i, s := range everyStream[:2] {
			chunks := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 9), 0, 12).Draw(t, "chunks")
			pumps.Go(func() {
				for _, p := range chunks {
					kept, _, err := b.Append(s, p)
					if err != nil {
						panic(err)
					}
					want[i] = append(want[i], p[:kept]...)
					dropped[i] += int64(len(p) - kept)
					b.Lose(s, int64(len(p)-kept), paddock.ReasonOutputLimit)
				}
			})
		}
		pumps.Wait()
		r := Open(dir)
		lost, _, err := r.Lost()
		for i := range lost {
			if err != nil || lost[i].Bytes > dropped[i] || (lost[i].Bytes > 0) != (dropped[i] > 0) {
				t.Fatalf("%+v of %d, %v", lost, dropped, err)
			}
		}
		o := paddock.Outcome{State: paddock.Exited}
		if rapid.Bool().Draw(t, "ended") {
			if err := b.Close(); err != nil {
				t.Fatalf("%v", err)
			}
			o.State = paddock.Lost
			for i, s := range []*paddock.StreamSummary{&o.Stdout, &o.Stderr} {
				if *s, err = r.Summary(everyStream[i]); err != nil {
					t.Fatalf("%v", err)
				}
			}
		} else if o.Stdout, o.Stderr, err = b.Seal(); err != nil || o.Stdout.Dropped != dropped[0] || o.Stderr.Dropped != dropped[1] {
			t.Fatalf("%+v, %v", o, err)
		}
		if err := r.VerifyLost(o); err != nil {
			t.Fatalf("%v", err)
		}
		for i, s := range everyStream[:2] {
			if got, _ := drain(t, r, paddock.PageRequest{Stream: s, Limit: 7}, true); !bytes.Equal(got, want[i]) {
				t.Fatalf("%s: %q, want %q", s, got, want[i])
			}
			if lost, _, err = r.Lost(); err != nil || lost[i].Bytes > 0 && lost[i].Offset != most {
				t.Fatalf("%+v, %v", lost, err)
			}
		}
		if all, _ := drain(t, r, paddock.PageRequest{Stream: paddock.Combined, Limit: 7}, true); len(all) != len(want[0])+len(want[1]) {
			t.Fatalf("%q", all)
		}
		for i, s := range []*paddock.StreamSummary{&o.Stdout, &o.Stderr} {
			if s.Dropped++; o.State == paddock.Exited && dropped[i] > 0 && r.VerifyLost(o) == nil {
				t.Fatal("another count passes")
			}
			s.Dropped--
		}
	})
}
