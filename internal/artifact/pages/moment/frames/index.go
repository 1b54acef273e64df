package frames

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strings"
)

// A Source is what reading needs of *os.File.
type Source interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// ReadFull fills p. A file that ends before is missing output, not at its end.
func ReadFull(src io.ReaderAt, p []byte, off int64, name string) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s breaks off at byte %d: %w", name, off+int64(n), io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%s can't be read at byte %d: %w", name, off+int64(n), err)
}

// An Index finds frames by position or time. It is of one moment: a writer that
// goes on doesn't change it.
type Index struct {
	src     Source
	marked  bool    // the file may have markers
	n       int64   // records in the file
	last    frame   // the last of them, as it was then
	known   bool    // last is read
	more    []frame // of bytes that no record covers
	block   []byte  // some records as read
	blockAt int64
}

const (
	blockRecords = 64
	manyRecords  = 2048 // where all are read
)

// Open reads where the records end.
func Open(src Source) (*Index, error) {
	info, err := src.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	head := make([]byte, min(info.Size(), RecordSize))
	if err := ReadFull(src, head, 0, Name); err != nil {
		return nil, err
	}
	// A crash may have left any part of the header; anything else is not ours.
	if !strings.HasPrefix(header, string(head)) && string(head) != marked {
		return nil, fmt.Errorf("%s isn't a file of frames, or of another version", Name)
	}
	// Part of a record at the end is one whose writing was interrupted.
	x := &Index{src: src, n: max(0, info.Size()/RecordSize-1), marked: string(head) == marked}
	if x.n > 0 {
		if x.last, err = x.at(x.n - 1); err != nil {
			return nil, err
		}
		x.known = true
	}
	return x, nil
}

func (x *Index) count() int64 { return x.n + int64(len(x.more)) }

// Covered returns the bytes of each stream that records cover.
func (x *Index) Covered() (pos [2]int64) {
	if x.n == 0 {
		return pos
	}
	return x.last.after()
}

// Extend adds bytes that no record covers, after those that are there.
func (x *Index) Extend(stream int, at, length int64) {
	f := frame{at: at, length: length, stream: stream}
	if k := x.count(); k > 0 {
		prev := x.last
		if k > x.n {
			prev = x.more[k-x.n-1]
		}
		f.at, f.combined, f.offset = max(at, prev.at), prev.end(), prev.after()[stream]
	}
	x.more = append(x.more, f)
}

// at returns record i, and reads some of those that follow along with it.
func (x *Index) at(i int64) (frame, error) { return x.get(i, blockRecords) }

func (x *Index) get(i, ahead int64) (frame, error) {
	if i >= x.n {
		return x.more[i-x.n], nil
	}
	if i == x.n-1 && x.known {
		return x.last, nil
	}
	if i < x.blockAt || i >= x.blockAt+int64(len(x.block))/RecordSize {
		p := make([]byte, min(ahead, x.n-i)*RecordSize)
		if err := ReadFull(x.src, p, (i+1)*RecordSize, Name); err != nil {
			return frame{}, err
		}
		x.block, x.blockAt = p, i
	}
	f, err := decode(x.block[(i-x.blockAt)*RecordSize:], x.marked)
	if err != nil {
		return frame{}, fmt.Errorf("%s is damaged: record %d: %w", Name, i, err)
	}
	return f, nil
}

// search returns the first frame for which ok holds, or the count.
func (x *Index) search(ok func(frame) bool) (int64, error) {
	var failed error
	i := sort.Search(int(x.count()), func(i int) bool {
		f, err := x.get(int64(i), 1)
		if err != nil {
			failed = errors.Join(failed, err)
			return true
		}
		return ok(f)
	})
	return int64(i), failed
}

// Since returns the position in both streams of the first bytes that aren't
// older than at, or none when all are. Bytes that no record covers are the newest.
func (x *Index) Since(at int64) (pos [2]int64, some bool, err error) {
	i, err := x.search(func(f frame) bool { return f.at >= at })
	for ; err == nil && i < x.count(); i++ {
		var f frame
		if f, err = x.at(i); err == nil && !f.marker() {
			return f.start(), true, nil
		}
	}
	return x.Covered(), false, err
}

// Place returns the position in both streams of the combined byte at off, which
// may be the end.
func (x *Index) Place(off int64) (pos [2]int64, err error) {
	i, err := x.search(func(f frame) bool { return f.end() > off })
	if err != nil || x.count() == 0 {
		return pos, err
	}
	f, err := x.at(min(i, x.count()-1))
	if err != nil {
		return pos, err
	}
	pos = f.start()
	pos[f.stream] += min(off-f.combined, f.length)
	return pos, nil
}

// A Part is one frame: what arrived on one stream from one place of both on.
type Part struct {
	Combined int64
	Start    [2]int64
	Stream   int
	Length   int64
}

// Last returns the last part for whose start ok holds, which must hold up to
// some part and for none behind it; or none.
func (x *Index) Last(ok func(start [2]int64) (bool, error)) (p Part, some bool, err error) {
	var failed error
	i, err := x.search(func(f frame) bool {
		if failed != nil {
			return true
		}
		var yes bool
		yes, failed = ok(f.start())
		return !yes
	})
	err = errors.Join(err, failed)
	for ; err == nil && i > 0; i-- {
		var f frame
		if f, err = x.get(i-1, 1); err == nil && !f.marker() {
			return Part{f.combined, f.start(), f.stream, f.length}, true, nil
		}
	}
	return p, false, err
}

// A Piece is a part of the combined stream that arrived on one stream at one time.
type Piece struct {
	At     int64
	Stream int
	Offset int64 // in its stream
	Length int
}

// Pieces splits the n combined bytes from off by frames.
func (x *Index) Pieces(off int64, n int) ([]Piece, error) {
	if n == 0 {
		return nil, nil
	}
	i, err := x.search(func(f frame) bool { return f.end() > off })
	if err != nil {
		return nil, err
	}
	var list []Piece
	var pos [2]int64
	for ; n > 0; i++ {
		if i >= x.count() {
			return nil, fmt.Errorf("%s is damaged: nothing covers byte %d", Name, off)
		}
		f, err := x.at(i)
		if err != nil {
			return nil, err
		}
		skip := off - f.combined
		if skip < 0 || skip >= f.length && !f.marker() || (len(list) > 0 && f.start() != pos) {
			return nil, notNext(i)
		}
		if f.marker() {
			continue
		}
		pos = f.after()
		p := Piece{At: f.at, Stream: f.stream, Offset: f.offset + skip, Length: int(min(f.length-skip, int64(n)))}
		list = append(list, p)
		off += int64(p.Length)
		n -= p.Length
	}
	return list, nil
}

func notNext(i int64) error {
	return fmt.Errorf("%s is damaged: record %d doesn't follow the one before", Name, i)
}

// A Lost is what markers say of one stream: how many bytes were dropped, and of the
// first of them when it arrived and before what in its stream and in both it would be.
type Lost struct {
	Bytes, At, Offset, Combined int64
}

// Lost goes through all records, if there are markers among them, and adds up what
// they say. marked is false of a file that has none.
func (x *Index) Lost() (sum [2]Lost, marked bool, err error) {
	if !x.marked {
		return sum, false, nil
	}
	var pos [2]int64
	var at int64
	for i := range x.n {
		f, err := x.get(i, manyRecords)
		if err != nil {
			return sum, true, err
		}
		if f.start() != pos || f.at < at {
			return sum, true, notNext(i)
		}
		pos, at = f.after(), f.at
		if s := &sum[f.stream]; f.marker() {
			if s.Bytes == 0 {
				*s = Lost{At: f.at, Offset: f.offset, Combined: f.combined}
			}
			if s.Bytes += f.lost; s.Bytes < 0 {
				return sum, true, fmt.Errorf("%s is damaged: it tells of more than there can be", Name)
			}
		}
	}
	return sum, true, nil
}
