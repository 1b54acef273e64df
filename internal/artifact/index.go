package artifact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strings"
)

// A source is what a Reader needs of *os.File.
type source interface {
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}

// readFull fills p. A file that ends before is missing output, not at its end.
func readFull(src io.ReaderAt, p []byte, off int64, name string) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s breaks off at byte %d: %w", name, off+int64(n), err)
}

// An index finds frames by position or time. It is of one moment: a writer that
// goes on doesn't change it.
type index struct {
	src     source
	n       int64   // records in the file
	last    frame   // the last of them, as it was then
	more    []frame // of bytes that no record covers
	block   []byte  // some records as read
	blockAt int64
}

const blockRecords = 64

func openIndex(src source) (*index, error) {
	info, err := src.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the order of output: %w", err)
	}
	head := make([]byte, min(info.Size(), recordSize))
	if err := readFull(src, head, 0, framesName); err != nil {
		return nil, err
	}
	// A crash may have left any part of the header; anything else is not ours.
	if !strings.HasPrefix(header, string(head)) {
		return nil, fmt.Errorf("%s isn't a file of frames, or of another version", framesName)
	}
	// Part of a record at the end is one whose writing was interrupted.
	x := &index{src: src, n: max(0, info.Size()/recordSize-1)}
	if x.n > 0 {
		if x.last, err = x.at(x.n - 1); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (x *index) count() int64 { return x.n + int64(len(x.more)) }

// covered returns the bytes of each stream that records cover.
func (x *index) covered() (pos [2]int64) {
	if x.n == 0 {
		return pos
	}
	return x.last.after()
}

// extend adds bytes that no record covers, in the order of the streams.
func (x *index) extend(stream int, at, length int64) {
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
func (x *index) at(i int64) (frame, error) { return x.get(i, blockRecords) }

func (x *index) get(i, ahead int64) (frame, error) {
	if i >= x.n {
		return x.more[i-x.n], nil
	}
	if i == x.n-1 && x.last.length > 0 {
		return x.last, nil
	}
	if i < x.blockAt || i >= x.blockAt+int64(len(x.block))/recordSize {
		p := make([]byte, min(ahead, x.n-i)*recordSize)
		if err := readFull(x.src, p, (i+1)*recordSize, framesName); err != nil {
			return frame{}, err
		}
		x.block, x.blockAt = p, i
	}
	f, err := decodeFrame(x.block[(i-x.blockAt)*recordSize:])
	if err != nil {
		return frame{}, fmt.Errorf("%s is damaged: record %d: %w", framesName, i, err)
	}
	return f, nil
}

// search returns the first frame for which ok holds, or the count.
func (x *index) search(ok func(frame) bool) (int64, error) {
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

// A piece is a frame, or the part of one, within a range of the combined stream.
type piece struct {
	at     int64
	stream int
	offset int64 // in its stream
	length int
}

// pieces splits the n combined bytes from off by frames.
func (x *index) pieces(off int64, n int) ([]piece, error) {
	if n == 0 {
		return nil, nil
	}
	i, err := x.search(func(f frame) bool { return f.end() > off })
	if err != nil {
		return nil, err
	}
	var list []piece
	var pos [2]int64
	for ; n > 0; i++ {
		if i >= x.count() {
			return nil, fmt.Errorf("%s is damaged: nothing covers byte %d", framesName, off)
		}
		f, err := x.at(i)
		if err != nil {
			return nil, err
		}
		skip := off - f.combined
		if skip < 0 || skip >= f.length || (len(list) > 0 && f.start() != pos) {
			return nil, fmt.Errorf("%s is damaged: record %d doesn't follow the one before", framesName, i)
		}
		pos = f.after()
		p := piece{at: f.at, stream: f.stream, offset: f.offset + skip, length: int(min(f.length-skip, int64(n)))}
		list = append(list, p)
		off += int64(p.length)
		n -= p.length
	}
	return list, nil
}
