package artifact

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
)

// A subscriber reads one stream by cursor: all that it keeps between two reads
// is what it has and where it was.
type subscriber struct {
	stream paddock.Stream
	from   int64 // where it began
	got    []byte
	reader *Reader
	eof    bool
}

// read takes one page, of a size and a kind that may be another each time.
func (s *subscriber) read(t *rapid.T, sealed bool) (progress bool) {
	req := paddock.PageRequest{
		Stream: s.stream, Offset: s.from + int64(len(s.got)),
		Limit: rapid.IntRange(1, 40).Draw(t, "limit"), Raw: rapid.Bool().Draw(t, "raw"),
	}
	p, err := s.reader.Page(req, sealed)
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	s.got = append(s.got, content(t, p, req, sealed)...)
	s.eof = p.EOF
	return p.NextOffset > p.Offset
}

// Whatever the order in which output is appended, readers come from any place,
// go, come back by cursor or in a new process, the owner dies or seals: each
// reader gets what follows its place without gap or duplicate, and what two
// readers of the combined stream get is one order.
func TestReadersByCursor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	chunk := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 60), rapid.Map(rapid.SampledFrom([]string{"line\n", "é", "日", "\xf0\x9f", "\x90\x8e", "\r"}),
		func(s string) []byte { return []byte(s) }))
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
		want := map[paddock.Stream][]byte{}
		var subs []*subscriber
		ended := false
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				s, p := everyStream[rapid.IntRange(0, 1).Draw(t, "to")], chunk.Draw(t, "chunk")
				c.t = c.t.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "ms")) * time.Millisecond)
				n, _, err := b.Append(s, p)
				if ended {
					if !errors.Is(err, ErrSealed) {
						t.Fatalf("appended %d after the end: %v", n, err)
					}
					return
				}
				if n != len(p) || err != nil {
					t.Fatalf("Append = %d, %v", n, err)
				}
				want[s] = append(want[s], p...)
				want[paddock.Combined] = append(want[paddock.Combined], p...)
			},
			"subscribe": func(t *rapid.T) {
				s := rapid.SampledFrom(everyStream).Draw(t, "stream")
				from := rapid.IntRange(0, len(want[s])).Draw(t, "from")
				subs = append(subs, &subscriber{stream: s, from: int64(from), reader: Open(dir)})
			},
			"read": func(t *rapid.T) {
				if len(subs) > 0 {
					rapid.SampledFrom(subs).Draw(t, "who").read(t, ended)
				}
			},
			// A reader that was closed for being slow, or whose process is
			// another one now, has its cursor and nothing else.
			"come back": func(t *rapid.T) {
				if len(subs) > 0 {
					rapid.SampledFrom(subs).Draw(t, "who").reader = Open(dir)
				}
			},
			"seal": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "seal") == 0 {
					if _, _, err := b.Seal(); err != nil && !ended {
						t.Fatalf("%v", err)
					}
					ended = true
				}
			},
			"the owner dies": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "die") == 0 {
					if err := b.Close(); err != nil {
						t.Fatalf("%v", err)
					}
					ended = true
				}
			},
			"": func(t *rapid.T) {
				for _, s := range subs {
					if !bytes.HasPrefix(want[s.stream][s.from:], s.got) {
						t.Fatalf("%s from %d: got %q of %q", s.stream, s.from, s.got, want[s.stream][s.from:])
					}
				}
			},
		})
		if err := b.Close(); err != nil {
			t.Fatalf("%v", err)
		}
		for _, s := range subs {
			for !s.eof {
				if !s.read(t, true) && !s.eof {
					t.Fatalf("%s stops at %d of %d", s.stream, s.from+int64(len(s.got)), len(want[s.stream]))
				}
			}
			if rest := want[s.stream][s.from:]; !bytes.Equal(s.got, rest) {
				t.Fatalf("%s from %d: got %q, want %q", s.stream, s.from, s.got, rest)
			}
		}
	})
}
