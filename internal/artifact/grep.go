package artifact

import (
	"bytes"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"paddock"
)

const (
	maxPattern  = 1000     // bytes of an expression
	maxProgram  = 2000     // its steps, roughly
	maxScan     = 16 << 20 // bytes looked at for one page
	minScan     = 4 * maxLine
	maxWork     = 1 << 28 // bytes times steps for one page
	maxLine     = 64 << 10
	cutMark     = "… [cut]\n"
	minFiltered = 16 // leaves room for cutMark and a little
)

// A filter keeps lines.
type filter interface {
	match(line []byte) bool
	scan() int64 // how much may be looked at for one page
}

type fixed []byte

func (f fixed) match(line []byte) bool { return bytes.Contains(line, f) }
func (f fixed) scan() int64            { return maxScan }

type expression struct {
	re    *regexp.Regexp
	steps int64
}

func (e expression) match(line []byte) bool { return e.re.Match(line) }
func (e expression) scan() int64            { return min(maxScan, max(minScan, maxWork/e.steps)) }

func newFilter(pattern string, literal bool) (filter, error) {
	switch {
	case pattern == "" && literal:
		return nil, refuse("grep_fixed is set, but grep is empty")
	case pattern == "":
		return nil, nil
	case len(pattern) > maxPattern:
		return nil, refuse("grep has %d bytes; at most %d are allowed", len(pattern), maxPattern)
	case !utf8.ValidString(pattern):
		return nil, refuse("grep isn't valid UTF-8")
	case literal && strings.Contains(pattern, "\n"):
		return nil, refuse("grep contains a line break, but lines are looked at one by one")
	case literal:
		return fixed(pattern), nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, refuse("grep isn't an RE2 expression: %v; set grep_fixed to take it literally", err)
	}
	// Measured before it is compiled: repetitions unfold.
	n := steps(tree)
	if n > maxProgram {
		return nil, refuse("grep is too complex: its repetitions unfold to %d steps, at most %d are allowed", n, maxProgram)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, refuse("grep isn't an RE2 expression: %v; set grep_fixed to take it literally", err)
	}
	return expression{re, n}, nil
}

func steps(re *syntax.Regexp) int64 {
	n := int64(1 + len(re.Rune)/16)
	if re.Op == syntax.OpLiteral {
		n = int64(len(re.Rune))
	}
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= int64(max(re.Min, re.Max, 1))
	}
	return n
}

// filtered reads the lines that keep matches. The page's NextOffset is behind
// the last line looked at, so that asking on from there sees every line once.
func (v *view) filtered(page *paddock.Page, req paddock.PageRequest, keep filter) (data []byte, valid bool, err error) {
	s := scanner{v: v, at: page.Offset, stop: min(v.total, page.Offset+keep.scan())}
	if err := s.skipLong(); err != nil {
		return nil, false, err
	}
	valid = true
	for room := req.Limit; s.at < s.stop && len(page.Entries) < maxEntries; {
		l, err := s.next()
		if err != nil {
			return nil, false, err
		}
		if l.end == s.at {
			break // the line isn't complete yet
		}
		if keep.match(trimEnd(l.text)) {
			fits := l.fit(&room, req.Raw, page.Matches == 0)
			if !fits {
				break // the next page has room
			}
			text := l.text
			if l.cut {
				text = append(text, cutMark...)
			}
			if v.stream == paddock.Combined {
				list, _, each, err := v.entries(s.at, l.text, math.MaxInt)
				if err != nil {
					return nil, false, err
				}
				if n := len(list) - 1; l.cut && n >= 0 {
					list[n].Text += cutMark
				}
				page.Entries = append(page.Entries, list...)
				valid = valid && each
			}
			data = append(data, text...)
			page.Matches++
		}
		s.at = l.end
	}
	page.NextOffset = s.at
	return data, valid && utf8.Valid(data), nil
}

// A line is one as found at the scanner's place.
type line struct {
	text []byte
	cut  bool // text is only its beginning
	end  int64
}

// fit takes the line's share of room, and reports whether there was enough. The
// first line of a page is cut until there is.
func (l *line) fit(room *int, raw, first bool) bool {
	need := width(l.text, raw)
	if l.cut {
		need += width([]byte(cutMark), raw)
	}
	if need > *room && first {
		l.cut = true
		l.text = prefix(l.text, *room-width([]byte(cutMark), raw), raw)
		need = *room
	}
	if need > *room {
		return false
	}
	*room -= need
	return true
}

func width(b []byte, raw bool) int {
	if raw {
		return len(b)
	}
	return utf8.RuneCount(b)
}

// prefix returns the first n characters of b, or what is whole of n bytes.
func prefix(b []byte, n int, raw bool) []byte {
	if raw {
		n = min(n, len(b))
		return slices.Clip(b[:n-cutCharacter(b[:n])])
	}
	end := 0
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return slices.Clip(b[:end])
}

func trimEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte{'\n'})
	return bytes.TrimSuffix(b, []byte{'\r'})
}

// A scanner finds lines in memory that doesn't depend on their length.
type scanner struct {
	v    *view
	at   int64 // where the next line begins
	stop int64 // where to look no further, at the next line's end
	buf  []byte
	base int64 // of buf in the stream
}

// skipLong goes to the next line when the scanner starts so far inside a line
// that what is seen of it has been seen.
func (s *scanner) skipLong() error {
	if s.at < maxLine {
		return nil
	}
	back := make([]byte, maxLine)
	if err := s.v.read(back, s.at-maxLine); err != nil {
		return err
	}
	if bytes.IndexByte(back, '\n') >= 0 {
		return nil
	}
	end, err := s.lineEnd(s.at)
	s.at = end
	return err
}

// next returns the line at s.at. Its end is s.at when that isn't known yet.
func (s *scanner) next() (line, error) {
	head, err := s.peek(maxLine + 1)
	if err != nil {
		return line{}, err
	}
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		return line{text: head[: i+1 : i+1], end: s.at + int64(i) + 1}, nil
	}
	if len(head) <= maxLine {
		if !s.v.sealed {
			return line{end: s.at}, nil
		}
		return line{text: head, end: s.v.total}, nil
	}
	end, err := s.lineEnd(s.at + maxLine + 1)
	text := head[:maxLine]
	return line{text: slices.Clip(text[:maxLine-cutCharacter(text)]), cut: true, end: end}, err
}

// peek returns the bytes from s.at on: n, or fewer at the end.
func (s *scanner) peek(n int64) ([]byte, error) {
	n = min(n, s.v.total-s.at)
	if s.at < s.base || s.at > s.base+int64(len(s.buf)) {
		s.buf, s.base = s.buf[:0], s.at
	}
	if skip := s.at - s.base; int64(len(s.buf))-skip < n {
		have := copy(s.buf, s.buf[skip:])
		s.base = s.at
		more := int(min(copyBlock, s.v.total-s.at-int64(have)))
		s.buf = slices.Grow(s.buf[:have], more)[:have+more]
		if err := s.v.read(s.buf[have:], s.base+int64(have)); err != nil {
			return nil, err
		}
	}
	skip := s.at - s.base
	return s.buf[skip : skip+n : skip+n], nil
}

// lineEnd returns the place behind the next line end at or after off, or how
// far it looked.
func (s *scanner) lineEnd(off int64) (int64, error) {
	var buf []byte
	for off < s.stop {
		if buf == nil {
			buf = make([]byte, min(copyBlock, s.stop-off))
		}
		p := buf[:min(int64(len(buf)), s.stop-off)]
		if err := s.v.read(p, off); err != nil {
			return off, err
		}
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			return off + int64(i) + 1, nil
		}
		off += int64(len(p))
	}
	return off, nil
}
