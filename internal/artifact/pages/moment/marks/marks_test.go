package marks

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A text is a Stream in memory that counts what is read of it.
type text struct {
	data []byte
	read int64
}

func (t *text) Read(p []byte, off int64) error {
	if off < 0 || off+int64(len(p)) > int64(len(t.data)) {
		return errors.New("read beyond the end")
	}
	t.read += int64(copy(p, t.data[off:]))
	return nil
}

// A memory is a file of marks.
type memory struct{ data []byte }

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if int(off) != len(m.data) {
		return 0, errors.New("not at the end")
	}
	m.data = append(m.data, p...)
	return len(p), nil
}

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.data).ReadAt(p, off)
}

// marked keeps data in pieces of some size.
func marked(data []byte, piece int) *memory {
	m := &memory{}
	w := Writer{Open: func() (io.WriterAt, error) { return m, nil }}
	for len(data) > 0 {
		n := min(piece, len(data))
		w.Add(data[:n])
		data = data[n:]
	}
	return m
}

func draw(t *rapid.T) []byte {
	part := rapid.SampledFrom([]string{
		"\n", "\n\n\n", "short\n", "x", strings.Repeat("y", Block), strings.Repeat("\n", Block), strings.Repeat("z", Block-1),
		strings.Repeat("ab\n", Block/2),
	})
	return []byte(strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), ""))
}

// start is where line n, counted from zero, begins, as one reads it off.
func start(data []byte, n int64) (from, seen int64) {
	for ; seen < n; seen++ {
		i := bytes.IndexByte(data[from:], '\n')
		if i < 0 {
			return int64(len(data)), seen
		}
		from += int64(i) + 1
	}
	return from, seen
}

// With whole records, with those of a moment ago, with damaged ones and with
// none, every line is where it is.
func TestLinesAreWhereTheyAre(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := draw(t)
		m := marked(data, rapid.SampledFrom([]int{1000, Block - 1, Block, 3 * Block}).Draw(t, "piece"))
		if want := len(data) / Block * recordSize; len(m.data) != want {
			t.Fatalf("%d bytes of marks, want %d", len(m.data), want)
		}
		m.data = m.data[:rapid.IntRange(0, len(m.data)).Draw(t, "lag")]
		if len(m.data) > 0 && rapid.Bool().Draw(t, "damage") {
			m.data[rapid.IntRange(0, len(m.data)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		total := len(data) - min(len(data), rapid.SampledFrom([]int{0, 1, Block}).Draw(t, "short"))
		data = data[:total]
		c := NewCounter(&text{data: data}, int64(total), m, int64(len(m.data)))
		for range 4 {
			n := rapid.Int64Range(0, 3*Block).Draw(t, "n")
			from, seen, err := c.Find(n)
			if wantFrom, wantSeen := start(data, n); err != nil || from != wantFrom || seen != wantSeen {
				t.Fatalf("line %d at %d after %d, want %d after %d; %v", n, from, seen, wantFrom, wantSeen, err)
			}
			off := rapid.IntRange(0, total).Draw(t, "off")
			got, err := c.Before(int64(off))
			if want := int64(bytes.Count(data[:off], []byte("\n"))); err != nil || got != want {
				t.Fatalf("%d lines before %d, want %d; %v", got, off, want, err)
			}
		}
	})
}

// A line is found by reading one block, however many there are; without records
// it is found too.
func TestMarksSaveReading(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456\n"), 64*Block/8)
	m := marked(data, Block)
	for _, records := range []*memory{m, nil} {
		s := &text{data: data}
		c := NewCounter(s, int64(len(data)), nil, 0)
		most := int64(len(data))
		if records != nil {
			c, most = NewCounter(s, int64(len(data)), records, int64(len(records.data))), Block
		}
		n := int64(len(data)/8 - 5)
		if from, seen, err := c.Find(n); err != nil || from != n*8 || seen != n || s.read > most {
			t.Fatalf("line %d at %d after %d, having read %d bytes; %v", n, from, seen, s.read, err)
		}
	}
}

// Records that fit themselves but not the stream are found out by the block
// that is used.
func TestMarksOfAnotherStream(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456\n"), 4*Block/8)
	m := marked(bytes.Repeat([]byte("0123\n"), 4*Block/5+1), Block)
	c := NewCounter(&text{data: data}, int64(len(data)), m, int64(len(m.data)))
	const n = 3*Block/8 + 7
	if got, err := c.Before(n * 8); err != nil || got != n {
		t.Fatalf("%d lines, want %d; %v", got, n, err)
	}
	c = NewCounter(&text{data: data}, int64(len(data)), m, int64(len(m.data)))
	if from, seen, err := c.Find(n); err != nil || from != n*8 || seen != n {
		t.Fatalf("line %d at %d after %d; %v", n, from, seen, err)
	}
}

func TestMarksThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	opened := 0
	w := Writer{Open: func() (io.WriterAt, error) { opened++; return nil, errors.New("the disk is full") }}
	w.Add(make([]byte, 3*Block))
	if opened != 1 {
		t.Fatalf("tried %d times", opened)
	}
	c := NewCounter(&text{}, 10, nil, 0)
	if _, err := c.Before(10); err == nil {
		t.Fatal("a stream that can't be read has no lines before its end")
	}
	if _, _, err := c.Find(1); err == nil {
		t.Fatal("a stream that can't be read has no lines")
	}
}

func BenchmarkAdd(b *testing.B) {
	w := Writer{Open: func() (io.WriterAt, error) { return discard{}, nil }}
	p := bytes.Repeat([]byte("a line of ordinary output, as programs print it\n"), 128<<10/48)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		w.Add(p)
	}
}

type discard struct{}

func (discard) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
