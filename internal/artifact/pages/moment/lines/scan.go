package lines

import (
	"bytes"
	"slices"
)

// A Line is one as found at the Scanner's place.
type Line struct {
	Text []byte
	Cut  bool // Text is only the beginning
	End  int64
}

// A Scanner finds lines in memory that doesn't depend on their length.
type Scanner struct {
	span   Span
	total  int64
	sealed bool
	stop   int64 // where to look no further, at the next line's end

	At   int64 // where the next line begins; the caller goes on to a Line's End
	buf  []byte
	base int64 // of buf in the stream
}

// Scan returns a Scanner that starts at from and looks at some so many bytes.
// When sealed isn't set, the line at the end isn't complete before its line end.
func Scan(span Span, total int64, sealed bool, from, bytes int64) (*Scanner, error) {
	s := &Scanner{span: span, total: total, sealed: sealed, stop: min(total, from+bytes), At: from}
	return s, s.skipLong()
}

// Done reports whether enough has been looked at.
func (s *Scanner) Done() bool { return s.At >= s.stop }

// skipLong goes to the next line when the Scanner starts so far inside a line
// that what is seen of it has been seen.
func (s *Scanner) skipLong() error {
	if s.At < Max {
		return nil
	}
	back := make([]byte, Max)
	if err := s.span.Read(back, s.At-Max); err != nil {
		return err
	}
	if bytes.IndexByte(back, '\n') >= 0 {
		return nil
	}
	end, err := s.lineEnd(s.At)
	s.At = end
	return err
}

// Next returns the line at s.At. Its End is s.At when that isn't known yet. The
// text is valid until the next call.
func (s *Scanner) Next() (Line, error) {
	head, err := s.peek(Max + 1)
	if err != nil {
		return Line{}, err
	}
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		return Line{Text: head[: i+1 : i+1], End: s.At + int64(i) + 1}, nil
	}
	if len(head) <= Max {
		if !s.sealed {
			return Line{End: s.At}, nil
		}
		return Line{Text: head, End: s.total}, nil
	}
	end, err := s.lineEnd(s.At + Max + 1)
	text := head[:Max]
	return Line{Text: slices.Clip(text[:Max-CutCharacter(text)]), Cut: true, End: end}, err
}

// Skip goes on to so many lines before the first line ahead that may contain
// needle, or some of the way, and returns how many lines it went by.
func (s *Scanner) Skip(needle []byte, before int) (int64, error) {
	head, err := s.peek(min(Block, s.stop-s.At))
	if err != nil {
		return 0, err
	}
	end := len(head)
	if i := bytes.Index(head, needle); i >= 0 {
		end = i
	}
	end = bytes.LastIndexByte(head[:end], '\n') + 1 // what the rest begins isn't known
	for ; before > 0 && end > 0; before-- {
		end = bytes.LastIndexByte(head[:end-1], '\n') + 1
	}
	s.At += int64(end)
	return int64(bytes.Count(head[:end], []byte{'\n'})), nil
}

// peek returns the bytes from s.At on: n, or fewer at the end.
func (s *Scanner) peek(n int64) ([]byte, error) {
	n = min(n, s.total-s.At)
	if s.At < s.base || s.At > s.base+int64(len(s.buf)) {
		s.buf, s.base = s.buf[:0], s.At
	}
	if skip := s.At - s.base; int64(len(s.buf))-skip < n {
		have := copy(s.buf, s.buf[skip:])
		s.base = s.At
		more := int(min(Block, s.total-s.At-int64(have)))
		s.buf = slices.Grow(s.buf[:have], more)[:have+more]
		if err := s.span.Read(s.buf[have:], s.base+int64(have)); err != nil {
			return nil, err
		}
	}
	skip := s.At - s.base
	return s.buf[skip : skip+n : skip+n], nil
}

// lineEnd returns the place behind the next line end at or after off, or how
// far it looked.
func (s *Scanner) lineEnd(off int64) (int64, error) {
	var buf []byte
	for off < s.stop {
		if buf == nil {
			buf = make([]byte, min(Block, s.stop-off))
		}
		p := buf[:min(int64(len(buf)), s.stop-off)]
		if err := s.span.Read(p, off); err != nil {
			return off, err
		}
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			return off + int64(i) + 1, nil
		}
		off += int64(len(p))
	}
	return off, nil
}
