package marks

import (
	"bytes"
	"io"
	"sort"
)

// A Stream is what a Counter counts in. Read fills p from off, or fails.
type Stream interface {
	Read(p []byte, off int64) error
}

// A Counter counts and finds lines of a stream as of one moment. It is used by
// one caller at a time.
type Counter struct {
	stream  Stream
	total   int64
	records io.ReaderAt // nil where there are none, or none to believe
	n       int64       // of records
	buf     []byte
}

// NewCounter counts in the first total bytes of stream. The records may be nil;
// size is how many bytes they have.
func NewCounter(stream Stream, total int64, records io.ReaderAt, size int64) *Counter {
	c := &Counter{stream: stream, total: total, records: records}
	if records != nil {
		// A stream that is being kept may have grown since it was measured.
		c.n = min(size/recordSize, total/Block)
	}
	return c
}

// forget makes the Counter do without records.
func (c *Counter) forget() { c.records, c.n = nil, 0 }

// upTo returns how many lines end in the first k blocks.
func (c *Counter) upTo(k int64) (count int64, ok bool) {
	if k == 0 {
		return 0, true
	}
	var b [recordSize]byte
	if n, err := c.records.ReadAt(b[:], (k-1)*recordSize); n < recordSize && err != nil {
		return 0, false
	}
	return decode(b[:], k-1)
}

// Before returns how many lines end before the byte at off.
func (c *Counter) Before(off int64) (int64, error) {
	k := min(off/Block, c.n)
	base, ok := c.upTo(k)
	if ok && k < c.n {
		// The block is counted whole, so that its record is held to it.
		next, fits := c.upTo(k + 1)
		p, err := c.read(k*Block, Block)
		if err != nil {
			return 0, err
		}
		if ok = fits && base+count(p) == next; ok {
			return base + count(p[:off-k*Block]), nil
		}
	}
	if !ok {
		c.forget()
		k, base = 0, 0
	}
	for at := k * Block; at < off; {
		p, err := c.read(at, min(Block, off-at))
		if err != nil {
			return 0, err
		}
		base += count(p)
		at += int64(len(p))
	}
	return base, nil
}

// Find returns where the line begins that n lines are complete before. When
// there are fewer, seen says how many, and from is the stream's end.
func (c *Counter) Find(n int64) (from, seen int64, err error) {
	for {
		k, base := c.nearest(n)
		marked := k < c.n
		end := c.total
		if marked {
			end = (k + 1) * Block
		}
		from, seen, err = c.scan(k*Block, end, base, n)
		if err != nil || !marked {
			return from, min(seen, n), err
		}
		if want, ok := c.upTo(k + 1); ok && want == seen {
			return from, n, nil
		}
		c.forget()
	}
}

// nearest returns the last block before which fewer than n lines end, and how
// many do.
func (c *Counter) nearest(n int64) (k, base int64) {
	fits := true
	k = int64(sort.Search(int(c.n), func(i int) bool {
		count, ok := c.upTo(int64(i) + 1)
		fits = fits && ok
		return count >= n
	}))
	base, ok := c.upTo(k)
	if !fits || !ok || k > 0 && base >= n {
		c.forget()
		return 0, 0
	}
	return k, base
}

// scan reads from at on, before which seen lines end, until n have ended, but no
// further than the end. It returns where that is, and how many lines end up to
// where it read last.
func (c *Counter) scan(at, end, seen, n int64) (from, counted int64, err error) {
	if n <= seen {
		return at, seen, nil
	}
	for at < end {
		p, err := c.read(at, min(Block, end-at))
		if err != nil {
			return 0, seen, err
		}
		ends := count(p)
		if seen+ends < n {
			seen += ends
			at += int64(len(p))
			continue
		}
		counted, i := seen+ends, 0
		for ; seen < n; seen++ {
			i += bytes.IndexByte(p[i:], '\n') + 1
		}
		return at + int64(i), counted, nil
	}
	return end, seen, nil
}

func (c *Counter) read(off, n int64) ([]byte, error) {
	if int64(cap(c.buf)) < n {
		c.buf = make([]byte, n)
	}
	p := c.buf[:n]
	return p, c.stream.Read(p, off)
}

func count(p []byte) int64 { return int64(bytes.Count(p, []byte{'\n'})) }
