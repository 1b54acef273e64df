package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/marks"
)

// Line N of a long log is read without reading what is before it: while it
// grows, after the seal, and of both streams together. The long version of this
// test has 10 GiB.
func TestLineOfALongLog(t *testing.T) {
	t.Parallel()
	size := int64(200 << 20)
	if os.Getenv("PADDOCK_LONG") != "" {
		size = 10 << 30
	}
	const width = 64
	b, dir := create(t, Options{})
	var block bytes.Buffer
	for i := range 1 << 14 {
		fmt.Fprintf(&block, "%-*d\n", width-1, i)
	}
	perBlock := int64(block.Len()) / width
	for kept := int64(0); kept < size; kept += int64(block.Len()) {
		put(t, b, frames.Streams[kept/int64(block.Len())%2], block.String())
	}
	r, read := counting(Open(dir))
	for _, sealed := range []bool{false, true} {
		if sealed {
			seal(t, b)
		}
		for _, s := range everyStream {
			total, err := r.Size(s)
			if err != nil {
				t.Fatal(err)
			}
			last := total / width
			for _, n := range []int64{2, last / 3, last - 1} {
				read.Store(0)
				want := fmt.Sprintf("%-*d\n", width-1, (n-1)%perBlock)
				wantPage(t, r, paddock.PageRequest{Stream: s, Line: n, Limit: width}, sealed, want)
				wantPage(t, r, paddock.PageRequest{Stream: s, Tail: last - n + 1, Limit: width}, sealed, want)
				if got := read.Load(); got > 40<<20 {
					t.Errorf("line %d of %s took reading %d MiB", n, s, got>>20)
				}
			}
		}
	}
}

// Lines of both streams are counted as one reads them, whatever became of the
// marks: they may be short, damaged, of another stream or gone.
func TestLinesOfBothStreams(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	part := rapid.SampledFrom([]string{"\n", "line\n", "no end", strings.Repeat("lines\n", marks.Block/6), strings.Repeat("x", marks.Block), strings.Repeat("\n", 1000)})
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer os.RemoveAll(dir)
		b, err := Create(dir, Options{Cap: 1 << 30})
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer b.Close()
		for range rapid.IntRange(0, 12).Draw(t, "parts") {
			if _, _, err := b.Append(frames.Streams[rapid.IntRange(0, 1).Draw(t, "stream")], []byte(part.Draw(t, "part"))); err != nil {
				t.Fatalf("%v", err)
			}
		}
		sealed := rapid.Bool().Draw(t, "sealed")
		if sealed {
			if _, _, err := b.Seal(); err != nil {
				t.Fatalf("%v", err)
			}
		}
		spoil(t, dir)
		r := Open(dir)
		for _, s := range everyStream {
			var all bytes.Buffer
			if _, err := r.Copy(&all, s, 0); err != nil {
				t.Fatalf("%v", err)
			}
			complete := bytes.Count(all.Bytes(), []byte("\n"))
			n := rapid.IntRange(1, complete+1).Draw(t, "line")
			if got := from(t, r, paddock.PageRequest{Stream: s, Line: int64(n)}, sealed); got != lineAt(all.Bytes(), n-1) {
				t.Fatalf("line %d of %s at %d, want %d", n, s, got, lineAt(all.Bytes(), n-1))
			}
			_, err := r.Page(paddock.PageRequest{Stream: s, Line: int64(complete + 2)}, sealed)
			if refusal := (*paddock.Refusal)(nil); !errors.As(err, &refusal) {
				t.Fatalf("line %d of %d of %s: %v", complete+2, complete, s, err)
			}
			begun := complete // lines, with the one that has no end
			if !bytes.HasSuffix(all.Bytes(), []byte("\n")) && all.Len() > 0 {
				begun++
			}
			if got := from(t, r, paddock.PageRequest{Stream: s, Tail: int64(n)}, sealed); got != lineAt(all.Bytes(), max(0, begun-n)) {
				t.Fatalf("tail %d of %s at %d, want %d", n, s, got, lineAt(all.Bytes(), max(0, begun-n)))
			}
		}
	})
}

func from(t *rapid.T, r *Reader, req paddock.PageRequest, sealed bool) int64 {
	req.Limit = 10
	p, err := r.Page(req, sealed)
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	return p.Offset
}

// lineAt returns where the line begins that n lines end before.
func lineAt(all []byte, n int) (at int64) {
	for ; n > 0; n-- {
		at += int64(bytes.IndexByte(all[at:], '\n')) + 1
	}
	return at
}

// spoil does something to the marks.
func spoil(t *rapid.T, dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, marks.Name("*")))
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("%v", err)
		}
		switch rapid.IntRange(0, 4).Draw(t, "spoil") {
		case 0:
			err = os.Remove(name)
		case 1:
			err = os.WriteFile(name, data[:rapid.IntRange(0, len(data)).Draw(t, "cut")], 0o600)
		case 2:
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 0x10
			err = os.WriteFile(name, data, 0o600)
		case 3:
			err = os.WriteFile(name, bytes.Repeat([]byte{0}, len(data)+16), 0o600)
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
	}
}
