// Package frames keeps and finds the order in which two streams arrived.
//
// A [Writer] adds a record for each part that arrived at one time; the last
// record grows in place with its part, so that nothing has to be flushed. An
// [Index] finds records by position and by time.
//
// # Limits
//
// The package sees no output, only how much there is of it. It locks nothing
// and knows no clock: a Writer has one caller at a time, who says how late it is.
package frames

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"paddock"
)

// Name is the file's name in a run's directory.
const Name = "frames"

// The file is a header and records, both of 32 bytes, little-endian. The size
// divides a page of memory, so no reader sees half a record of a living writer.
const (
	RecordSize = 32
	// lengthAt is where a record's length is; it alone changes, while its
	// record is the last.
	lengthAt = 24
	header   = "paddock frames\n\x00\x01\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
)

// Bounds of what is kept.
const (
	// Coalesce is the time after a record's first byte in which more of the
	// same stream joins it.
	Coalesce = 4 * time.Millisecond
	// Free is the size that the file may have whatever the output, and Share
	// how many bytes of output pay for each byte beyond.
	Free  = 1 << 20
	Share = 4
	// Pause is the age of a record after which another is added even beyond
	// that, and the longest that bytes should wait for one.
	Pause = time.Second
	// maxLength of a record stays below what its field can hold.
	maxLength = 1 << 30
)

// Streams are the streams as frames number them.
var Streams = [2]paddock.Stream{paddock.Stdout, paddock.Stderr}

// Number returns the number of s; there is none of combined.
func Number(s paddock.Stream) (int, bool) {
	for i, name := range Streams {
		if s == name {
			return i, true
		}
	}
	return 0, false
}

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
	b := make([]byte, RecordSize)
	le := binary.LittleEndian
	le.PutUint64(b, uint64(f.at))
	le.PutUint64(b[8:], uint64(f.combined))
	le.PutUint64(b[16:], uint64(f.offset))
	le.PutUint32(b[lengthAt:], uint32(f.length))
	b[28] = byte(f.stream + 1) // a record of zeros must not pass for one
	return b
}

func decode(b []byte) (frame, error) {
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
