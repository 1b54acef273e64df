package pages

import (
	"math"
	"slices"
	"unicode/utf8"

	"paddock"
	"paddock/internal/artifact/pages/lines"
)

const (
	// CutMark ends a line that is returned cut.
	CutMark     = "… [cut]\n"
	minFiltered = 16 // characters: room for CutMark and a little
)

func newFilter(pattern string, literal bool) (*lines.Filter, error) {
	if pattern == "" {
		if literal {
			return nil, refuse("grep_fixed is set, but grep is empty")
		}
		return nil, nil
	}
	keep, err := lines.NewFilter(pattern, literal)
	if err != nil {
		return nil, refuse("grep can't be used: %v", err)
	}
	return keep, nil
}

// filtered reads the lines that keep matches. The page's NextOffset is behind
// the last line looked at, so that asking on from there sees every line once.
func (v *View) filtered(page *paddock.Page, req paddock.PageRequest, keep *lines.Filter) (data []byte, valid bool, err error) {
	s, err := lines.Scan(v, v.total, v.sealed, page.Offset, keep.Scan())
	if err != nil {
		return nil, false, err
	}
	valid = true
	for room := req.Limit; !s.Done() && len(page.Entries) < MaxEntries; {
		l, err := s.Next()
		if err != nil {
			return nil, false, err
		}
		if l.End == s.At {
			break // the line isn't complete yet
		}
		if keep.Match(l.Text) {
			fits := fit(&l, &room, req.Raw, page.Matches == 0)
			if !fits {
				break // the next page has room
			}
			text := l.Text
			if l.Cut {
				text = append(text, CutMark...)
			}
			if v.stream == paddock.Combined {
				list, _, each, err := v.entries(s.At, l.Text, math.MaxInt)
				if err != nil {
					return nil, false, err
				}
				if n := len(list) - 1; l.Cut && n >= 0 {
					list[n].Text += CutMark
				}
				page.Entries = append(page.Entries, list...)
				valid = valid && each
			}
			data = append(data, text...)
			page.Matches++
		}
		s.At = l.End
	}
	page.NextOffset = s.At
	return data, valid && utf8.Valid(data), nil
}

// fit takes the line's share of room, and reports whether there was enough. The
// first line of a page is cut until there is.
func fit(l *lines.Line, room *int, raw, first bool) bool {
	need := width(l.Text, raw)
	if l.Cut {
		need += width([]byte(CutMark), raw)
	}
	if need > *room && first {
		l.Cut = true
		l.Text = prefix(l.Text, *room-width([]byte(CutMark), raw), raw)
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
		return slices.Clip(b[:n-lines.CutCharacter(b[:n])])
	}
	end := 0
	for ; n > 0 && end < len(b); n-- {
		_, size := utf8.DecodeRune(b[end:])
		end += size
	}
	return slices.Clip(b[:end])
}
