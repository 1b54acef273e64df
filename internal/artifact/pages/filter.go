package pages

import (
	"slices"
	"unicode/utf8"

	"paddock"
	"paddock/internal/artifact/pages/moment/lines"
)

const (
	// CutMark ends a line that is returned cut.
	CutMark     = "… [cut]\n"
	minFiltered = 16 // characters a line: room for CutMark and a little
)

// newFilter returns what req filters by, if it does.
func newFilter(req paddock.PageRequest) (*lines.Filter, error) {
	for _, n := range []struct {
		name  string
		value int
	}{{"grep_before", req.GrepBefore}, {"grep_after", req.GrepAfter}, {"grep_owed", req.GrepOwed}} {
		if n.value < 0 || n.value > paddock.MaxContext {
			return nil, refuse("%s is %d; it is from 0 to %d", n.name, n.value, paddock.MaxContext)
		}
	}
	if req.Grep == "" {
		if req.GrepFixed || req.GrepIgnoreCase || req.GrepInvert || req.GrepCount || req.GrepBefore+req.GrepAfter+req.GrepOwed > 0 {
			return nil, refuse("the request says how to use grep, but grep is empty")
		}
		return nil, nil
	}
	if least := minFiltered * (req.GrepBefore + 1); req.Limit < least {
		return nil, refuse("limit is %d; with grep and %d lines before each match it must be at least %d", req.Limit, req.GrepBefore, least)
	}
	keep, err := lines.NewFilter(lines.Pattern{
		Text: req.Grep, Literal: req.GrepFixed, IgnoreCase: req.GrepIgnoreCase, Invert: req.GrepInvert,
	})
	if err != nil {
		return nil, refuse("grep can't be used: %v", err)
	}
	return keep, nil
}

// shorten cuts a line until it is at most so wide, with the mark that says so.
func shorten(l *lines.Line, most int, raw bool) {
	if wide(*l, raw) > most {
		l.Cut = true
		l.Text = prefix(l.Text, most-width([]byte(CutMark), raw), raw)
	}
}

// wide is how much of a page's room a line takes.
func wide(l lines.Line, raw bool) int {
	n := width(l.Text, raw)
	if l.Cut {
		n += width([]byte(CutMark), raw)
	}
	return n
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
