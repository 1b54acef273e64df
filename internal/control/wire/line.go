package wire

import (
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is the error of a line past its bound.
var ErrTooLong = errors.New("the line is too long")

// A Lines reads lines of bounded length. Its buffer grows only as far as
// the lines that come do.
type Lines struct {
	r          io.Reader
	buf        []byte
	start, end int // of what is read and not yet returned
	scanned    int // how much of that is known to hold no line end
}

// NewLines reads the lines of r.
func NewLines(r io.Reader) *Lines { return &Lines{r: r} }

// Next returns the next line without its end, valid until the following call.
// io.EOF means that the peer ended between lines.
func (l *Lines) Next(most int) ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.start+l.scanned:l.end], '\n'); i >= 0 {
			n := l.scanned + i
			line := l.buf[l.start : l.start+n]
			l.start, l.scanned = l.start+n+1, 0
			if n > most {
				return nil, ErrTooLong
			}
			return line, nil
		}
		l.scanned = l.end - l.start
		if l.scanned > most {
			return nil, ErrTooLong
		}
		if err := l.fill(); err != nil {
			if errors.Is(err, io.EOF) && l.scanned > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

func (l *Lines) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) {
		grown := make([]byte, max(1024, 2*len(l.buf)))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}
