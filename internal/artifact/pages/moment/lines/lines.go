// Package lines finds lines in a stream, from the end or by a filter, in memory that depends neither on the stream nor on its lines.
//
// # Limits
//
// The package doesn't know where a stream comes from. A filter is shown the
// first 64 KiB of a line. A scan that starts further inside a line takes it
// that the line has been looked at, and goes on behind it.
package lines

import (
	"bytes"
	"unicode/utf8"
)

const (
	// Max is how much of a line is looked at.
	Max = 64 << 10
	// Block is how much is read at once.
	Block = 128 << 10
)

// A Span is a stream as of one moment. Read fills p from off, or fails.
type Span interface {
	Read(p []byte, off int64) error
}

// Tail returns where the last n lines begin, reading backwards from the end. It
// gives up when it has read most bytes without finding out.
func Tail(span Span, total, n, most int64) (from int64, found bool, err error) {
	buf := make([]byte, min(Block, total))
	seen := int64(0)
	for end := total; end > 0; {
		if total-end >= most {
			return 0, false, nil
		}
		p := buf[:min(int64(len(buf)), end)]
		off := end - int64(len(p))
		if err := span.Read(p, off); err != nil {
			return 0, false, err
		}
		for i := len(p); i > 0; {
			if i = bytes.LastIndexByte(p[:i], '\n'); i < 0 {
				break
			}
			// The line end at the very end ends the last line, begins none.
			if off+int64(i)+1 == total {
				continue
			}
			if seen++; seen == n {
				return off + int64(i) + 1, true, nil
			}
		}
		end = off
	}
	return 0, true, nil
}

// CutCharacter returns how many bytes at the end of b begin a character that
// isn't complete.
func CutCharacter(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
