package packed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"paddock"
	"paddock/internal/artifact"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/marks"
)

// long is a log of some size that nobody had to keep.
type long struct {
	block []byte
	left  int64
}

func (l *long) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.block[(int64(len(l.block))-l.left%int64(len(l.block)))%int64(len(l.block)):])
	n = int(min(int64(n), l.left))
	l.left -= int64(n)
	return n, nil
}

type counted struct {
	artifact.Source
	n *atomic.Int64
}

func (c counted) ReadAt(p []byte, off int64) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Source.ReadAt(p, off)
}

// Line N of a long log is read without unpacking what is before it. The long
// version of this test has 10 GiB.
func TestLineOfALongPackedLog(t *testing.T) {
	t.Parallel()
	size := int64(100 << 20)
	if os.Getenv("PADDOCK_LONG") != "" {
		size = 10 << 30
	}
	const width = 64
	var block bytes.Buffer
	for i := range 1 << 14 {
		fmt.Fprintf(&block, "%-*d\n", width-1, i)
	}
	perBlock := int64(block.Len()) / width
	dir := t.TempDir()
	create := func(name string) *os.File {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		must(t, err)
		return f
	}
	out, order, lines := create("stdout"+Suffix), create(frames.Name), create(marks.Name("stdout"))
	m := marks.Writer{Open: func() (io.WriterAt, error) { return lines, nil }}
	_, err := Pack(t.Context(), out, io.TeeReader(&long{block.Bytes(), size}, adder{&m}))
	must(t, err)
	w, err := frames.Create(order)
	must(t, err)
	_, err = w.Grow(0, size, 1)
	must(t, errors.Join(err, w.Settle(), out.Close(), order.Close(), lines.Close(), create("stderr").Close()))
	read := new(atomic.Int64)
	r := artifact.OpenBy(dir, func(path string) (artifact.Source, error) {
		src, err := open(path)
		if err != nil {
			return nil, err
		}
		return counted{src, read}, nil
	})
	last := size / width
	for _, s := range []paddock.Stream{paddock.Stdout, paddock.Combined} {
		for _, n := range []int64{2, last / 3, last - 1} {
			for _, req := range []paddock.PageRequest{{Stream: s, Line: n, Limit: width}, {Stream: s, Tail: last - n + 1, Limit: width}, {Stream: s, Offset: (n - 1) * width, Limit: width}} {
				read.Store(0)
				start := time.Now()
				p, err := r.Page(req, true)
				if want := fmt.Sprintf("%-*d\n", width-1, (n-1)%perBlock); err != nil || p.Content != want {
					t.Fatalf("%+v: %q, %v", req, p.Content, err)
				}
				if got := read.Load(); got > 4<<20 {
					t.Errorf("%+v took reading %d KiB", req, got>>10)
				}
				t.Logf("line %d of %d of %s: %s, reading %d KiB", n, last, s, time.Since(start).Round(time.Microsecond), read.Load()>>10)
			}
		}
	}
}

// adder has the lines counted of what goes by.
type adder struct{ w *marks.Writer }

func (a adder) Write(p []byte) (int, error) {
	a.w.Add(p)
	return len(p), nil
}
