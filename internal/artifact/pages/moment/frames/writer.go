package frames

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A Writer writes the file. The zero Writer is invalid.
type Writer struct {
	w    io.WriterAt
	n    int64 // records in the file
	last frame // the last of them
	// size and framed are the bytes of each stream that are kept, and those
	// that a record covers; first is when the oldest uncovered byte arrived.
	size, framed, first [2]int64
	drops               [2]drops
	marked              bool // the header says that there are markers
}

// Create begins the file.
func Create(w io.WriterAt) (*Writer, error) {
	if _, err := w.WriteAt([]byte(header), 0); err != nil {
		return nil, err
	}
	return &Writer{w: w}, nil
}

// Count returns how many records there are.
func (w *Writer) Count() int64 { return w.n }

// Grow says that a stream has grown to size at the time now, in Unix
// nanoseconds, and covers what can be covered. It reports whether some bytes
// still wait for a record. With an error nothing is lost: bytes without a record
// get one by a later call.
func (w *Writer) Grow(stream int, size, now int64) (waiting bool, err error) {
	// A clock may be set back; times in the file never go back, because they
	// are searched.
	now = max(now, w.last.at)
	if w.framed[stream] == w.size[stream] {
		w.first[stream] = now
	}
	w.size[stream] = size
	return w.cover(now, false)
}

// Settle covers every byte and marks what was dropped, whatever the bound.
func (w *Writer) Settle() error {
	_, err := w.cover(w.last.at, true)
	return err
}

// cover brings the records up to the kept bytes, by growing the last one or by
// adding; force adds also where the bound says to wait.
func (w *Writer) cover(now int64, force bool) (waiting bool, err error) {
	for _, s := range [2]int{w.last.stream, 1 - w.last.stream} {
		waits, err := w.coverStream(s, now, force)
		if err != nil {
			return true, err
		}
		waiting = waiting || waits
	}
	for s := range w.drops {
		waits, err := w.mark(s, now, force)
		if err != nil {
			return true, err
		}
		waiting = waiting || waits
	}
	return waiting, nil
}

func (w *Writer) coverStream(s int, now int64, force bool) (waiting bool, err error) {
	for w.framed[s] < w.size[s] {
		may := force || w.mayAdd(now)
		more := w.size[s] - w.framed[s]
		fits := w.n > 0 && !w.last.marker() && s == w.last.stream && w.last.length+more <= maxLength
		switch {
		case fits && (!may || now-w.last.at < int64(Coalesce)):
			err = w.grow(s, more)
		case may:
			err = w.add(s, min(more, maxLength))
		default:
			return true, nil
		}
		if err != nil {
			return true, err
		}
	}
	return false, nil
}

func (w *Writer) mayAdd(now int64) bool {
	bound := Free + (w.size[0]+w.size[1])/Share
	return (w.n+2)*RecordSize <= bound || now-w.last.at >= int64(Pause)
}

func (w *Writer) grow(s int, more int64) error {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(w.last.length+more))
	if _, err := w.w.WriteAt(b[:], w.n*RecordSize+lengthAt); err != nil {
		return fmt.Errorf("adding to the order of output: %w", err)
	}
	w.last.length += more
	w.framed[s] += more
	return nil
}

func (w *Writer) add(s int, length int64) error {
	f := frame{at: max(w.first[s], w.last.at), combined: w.framed[0] + w.framed[1], offset: w.framed[s], length: length, stream: s}
	if _, err := w.w.WriteAt(f.encode(), (w.n+1)*RecordSize); err != nil {
		return fmt.Errorf("adding to the order of output: %w", err)
	}
	w.n++
	w.last = f
	w.framed[s] += length
	return nil
}
