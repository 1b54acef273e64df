// Package frames keeps and finds the order in which two streams arrived.
//
// A [Writer] adds a record for each part that arrived at one time; the last
// record grows in place with its part, so that nothing has to be flushed. An
// [Index] finds records by position and by time. Where bytes of a stream arrived and
// weren't kept, a marker among the records says how many.
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
	header   = magic + "\x01" + rest
	magic    = "paddock frames\n\x00"
	rest     = "\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	// marked is the header of a file with markers. A file becomes one before its
	// first marker is written, and one without is of the version before, so that
	// only what has something new to say is unknown to older readers.
	marked    = magic + "\x02" + rest
	versionAt = int64(len(magic))
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
	// maxLost is what one marker can say.
	maxLost = 1<<56 - 1
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

// A frame says that length bytes of a stream arrived at one time. One that is a
// marker covers none, and says that from its place on so many were dropped.
type frame struct {
	at       int64 // Unix nanoseconds
	combined int64
	offset   int64 // in its own stream
	length   int64
	lost     int64 // of a marker; zero of all others
	stream   int
}

func (f frame) marker() bool { return f.lost > 0 }

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
	copy(b[lengthAt:], f.amount())
	return b
}

// amount is the end of a record: what grows, and between its bytes which stream it
// is of and whether it is a marker. A record of zeros must not pass for one.
func (f frame) amount() []byte {
	n, kind := uint64(f.length), uint64(f.stream+1)
	if f.marker() {
		n, kind = uint64(f.lost), uint64(f.stream+3)
	}
	return binary.LittleEndian.AppendUint64(nil, n&math.MaxUint32|kind<<32|n>>32<<40)
}

// decode reads a record of a file with markers, or of one without.
func decode(b []byte, markers bool) (frame, error) {
	le := binary.LittleEndian
	amount := le.Uint64(b[lengthAt:])
	f := frame{at: int64(le.Uint64(b)), combined: int64(le.Uint64(b[8:])), offset: int64(le.Uint64(b[16:]))}
	n := int64(amount&math.MaxUint32 | amount>>40<<32)
	ok := n > 0
	switch kind := int(amount >> 32 & 0xff); {
	case kind == 1 || kind == 2:
		f.stream, f.length = kind-1, n
		ok = ok && n <= math.MaxUint32
	case markers && (kind == 3 || kind == 4):
		f.stream, f.lost = kind-3, n
	default:
		ok = false
	}
	if !ok || f.offset < 0 || f.combined < f.offset || f.combined > math.MaxInt64-f.length {
		return frame{}, errors.New("not a record of this version")
	}
	return f, nil
}
