package artifact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// The frames file is a header and records, both of 32 bytes, little-endian.
// The size divides a page of memory, so no reader sees half a record of a
// living writer.
const (
	recordSize = 32
	// lengthAt is where a record's length is; it alone changes, while its
	// record is the last.
	lengthAt = 24
	header   = "paddock frames\n\x00\x01\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
)

const (
	coalesce    = 4 * time.Millisecond
	framesFree  = 1 << 20
	framesShare = 4 // bytes of output per byte of frames beyond framesFree
	framesPause = time.Second
	maxFrame    = 1 << 30
)

// A frame says that length bytes of a stream arrived at one time.
type frame struct {
	at       int64 // Unix nanoseconds
	combined int64
	offset   int64 // in its own stream
	length   int64
	stream   int
}

// start returns the position in each stream before the frame. Every byte before
// it that isn't in its own stream is in the other.
func (f frame) start() (pos [2]int64) {
	pos[f.stream], pos[1-f.stream] = f.offset, f.combined-f.offset
	return pos
}

func (f frame) end() int64 { return f.combined + f.length }

func (f frame) after() (pos [2]int64) {
	pos = f.start()
	pos[f.stream] += f.length
	return pos
}

func (f frame) encode() []byte {
	b := make([]byte, recordSize)
	le := binary.LittleEndian
	le.PutUint64(b, uint64(f.at))
	le.PutUint64(b[8:], uint64(f.combined))
	le.PutUint64(b[16:], uint64(f.offset))
	le.PutUint32(b[lengthAt:], uint32(f.length))
	b[28] = byte(f.stream + 1) // a record of zeros must not pass for one
	return b
}

func decodeFrame(b []byte) (frame, error) {
	le := binary.LittleEndian
	f := frame{
		at:       int64(le.Uint64(b)),
		combined: int64(le.Uint64(b[8:])),
		offset:   int64(le.Uint64(b[16:])),
		length:   int64(le.Uint32(b[lengthAt:])),
		stream:   int(b[28]) - 1,
	}
	known := f.stream == 0 || f.stream == 1
	if !known || b[29]|b[30]|b[31] != 0 || f.length == 0 ||
		f.offset < 0 || f.combined < f.offset || f.combined > math.MaxInt64-f.length {
		return frame{}, errors.New("not a record of this version")
	}
	return f, nil
}

// A framer writes the frames file. Its owner holds a lock around every call.
type framer struct {
	w    io.WriterAt
	n    int64 // records in the file
	last frame // the last of them
	// size and framed are the bytes of each stream that are kept, and those
	// that a record covers; first is when the oldest uncovered byte arrived.
	size, framed, first [2]int64
}

// note says that a stream has grown to size, and covers what can be covered.
// It reports whether some bytes still wait for a record.
func (w *framer) note(stream int, size, now int64) (waiting bool, err error) {
	// A clock may be set back; times in the file never go back, because they
	// are searched.
	now = max(now, w.last.at)
	if w.framed[stream] == w.size[stream] {
		w.first[stream] = now
	}
	w.size[stream] = size
	return w.cover(now, false)
}

// cover brings the records up to the kept bytes, by growing the last one or by
// adding; force adds also where the bound says to wait.
func (w *framer) cover(now int64, force bool) (waiting bool, err error) {
	for _, s := range [2]int{w.last.stream, 1 - w.last.stream} {
		waits, err := w.coverStream(s, now, force)
		if err != nil {
			return true, err
		}
		waiting = waiting || waits
	}
	return waiting, nil
}

func (w *framer) coverStream(s int, now int64, force bool) (waiting bool, err error) {
	for w.framed[s] < w.size[s] {
		may := force || w.mayAdd(now)
		more := w.size[s] - w.framed[s]
		fits := w.n > 0 && s == w.last.stream && w.last.length+more <= maxFrame
		switch {
		case fits && (!may || now-w.last.at < int64(coalesce)):
			err = w.grow(s, more)
		case may:
			err = w.add(s, min(more, maxFrame))
		default:
			return true, nil
		}
		if err != nil {
			return true, err
		}
	}
	return false, nil
}

func (w *framer) mayAdd(now int64) bool {
	bound := framesFree + (w.size[0]+w.size[1])/framesShare
	return (w.n+2)*recordSize <= bound || now-w.last.at >= int64(framesPause)
}

func (w *framer) grow(s int, more int64) error {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], uint32(w.last.length+more))
	if _, err := w.w.WriteAt(b[:], w.n*recordSize+lengthAt); err != nil {
		return fmt.Errorf("keeping the order of output: %w", err)
	}
	w.last.length += more
	w.framed[s] += more
	return nil
}

func (w *framer) add(s int, length int64) error {
	f := frame{at: max(w.first[s], w.last.at), combined: w.framed[0] + w.framed[1], offset: w.framed[s], length: length, stream: s}
	if _, err := w.w.WriteAt(f.encode(), (w.n+1)*recordSize); err != nil {
		return fmt.Errorf("keeping the order of output: %w", err)
	}
	w.n++
	w.last = f
	w.framed[s] += length
	return nil
}
