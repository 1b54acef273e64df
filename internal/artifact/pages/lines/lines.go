// Package lines finds lines in a stream, from the start, from the end or by a
// filter, in memory that depends neither on the stream nor on its lines.
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

// Find returns where line n, counted from one, begins. It does if n-1 lines are
// complete before: seen is how many it saw.
func Find(span Span, total, n int64) (from, seen int64, err error) {
	if n == 1 {
		return 0, 0, nil
	}
	buf := make([]byte, min(Block, total))
	for off := int64(0); off < total; {
		p := buf[:min(int64(len(buf)), total-off)]
		if err := span.Read(p, off); err != nil {
			return 0, seen, err
		}
		if c := int64(bytes.Count(p, []byte{'\n'})); seen+c < n-1 {
			seen += c
			off += int64(len(p))
			continue
		}
		for i := 0; ; i++ {
			i += bytes.IndexByte(p[i:], '\n')
			if seen++; seen == n-1 {
				return off + int64(i) + 1, seen, nil
			}
		}
	}
	return total, seen, nil
}

// Tail returns where the last n lines begin, reading backwards from the end.
func Tail(span Span, total, n int64) (int64, error) {
	buf := make([]byte, min(Block, total))
	seen := int64(0)
	for end := total; end > 0; {
		p := buf[:min(int64(len(buf)), end)]
		off := end - int64(len(p))
		if err := span.Read(p, off); err != nil {
			return 0, err
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
				return off + int64(i) + 1, nil
			}
		}
		end = off
	}
	return 0, nil
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
