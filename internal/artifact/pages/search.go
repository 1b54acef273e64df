package pages

import (
	"math"
	"unicode/utf8"

	"paddock"
	"paddock/internal/artifact/pages/moment/lines"
	"paddock/internal/clean"
)

// A search goes through lines and puts those that are kept onto a page.
type search struct {
	v    *view
	req  paddock.PageRequest
	page *paddock.Page
	s    *lines.Scanner
	keep *lines.Filter

	number int64   // of the line that is looked at
	room   int     // that is left on the page
	held   []place // the lines before it, should it match; none is on a page yet
	data   []byte
	valid  bool
}

// A place is where a line is, and how much of it is shown.
type place struct {
	at, end int64
	shown   int
	cut     bool
}

// search reads the lines that keep matches, and their context. The page's
// NextOffset is behind the last line that needn't be looked at again, so that
// asking on from there shows every line once.
func (v *view) search(page *paddock.Page, req paddock.PageRequest, keep *lines.Filter) (data []byte, valid bool, err error) {
	x := &search{v: v, req: req, page: page, keep: keep, room: req.Limit, valid: true}
	if x.s, err = lines.Scan(v, v.Total(), v.Sealed, page.Offset, keep.Scan()); err != nil {
		return nil, false, err
	}
	if req.GrepCount {
		x.req.GrepBefore, x.req.GrepAfter = 0, 0
	} else {
		before, err := v.Before(x.s.At)
		if err != nil {
			return nil, false, err
		}
		x.number = before + 1
	}
	page.GrepOwed = min(req.GrepOwed, x.req.GrepAfter)
	for more := true; more && !x.s.Done() && len(page.Entries) < MaxEntries && len(page.Lines) < paddock.MaxLines; {
		if more, err = x.skip(); more && err == nil {
			more, err = x.next()
		}
		if err != nil {
			return nil, false, err
		}
	}
	page.NextOffset = x.again()
	return x.data, x.valid && utf8.Valid(x.data), nil
}

// skip goes by lines that can't match, without looking at each, and reports
// whether there is more to look at.
func (x *search) skip() (bool, error) {
	needle := x.keep.Needle()
	if x.req.View != "" { // where what is between its letters may be left out
		return true, nil
	}
	if len(needle) == 0 || x.page.GrepOwed > 0 {
		return true, nil
	}
	n, err := x.s.Skip(needle, x.req.GrepBefore)
	if n > 0 {
		x.number += n
		x.held = x.held[:0] // those before the next match come now
	}
	return !x.s.Done(), err
}

// next looks at one line, and reports whether there is a reason to go on.
func (x *search) next() (bool, error) {
	l, err := x.s.Next()
	if err != nil || l.End == x.s.At {
		return false, err // the line isn't complete yet
	}
	fits := true
	here := place{x.s.At, l.End, len(l.Text), l.Cut}
	text := l.Text
	if x.req.View != "" {
		text = clean.Bytes(text, clean.Text) // colours are no part of a word
	}
	switch {
	case x.keep.Match(text):
		if fits, err = x.match(l, here); err != nil {
			return false, err
		}
	case x.page.GrepOwed > 0:
		if fits, err = x.put([]lines.Line{x.shown(l)}, []place{here}, false); err != nil {
			return false, err
		}
		if fits {
			x.page.GrepOwed--
		}
	case x.req.GrepBefore > 0:
		if len(x.held) == x.req.GrepBefore {
			x.held = append(x.held[:0], x.held[1:]...)
		}
		x.held = append(x.held, here)
	}
	if !fits {
		return false, nil // the next page has room
	}
	x.s.At = l.End
	x.number++
	return true, nil
}

// shown returns the line as it is shown.
func (x *search) shown(l lines.Line) lines.Line {
	if x.req.View != "" {
		l.Text = clean.Bytes(l.Text, modes[x.req.View])
	}
	return l
}

// match puts a line that matches onto the page, behind those that are held for
// it, or reports that they don't fit.
func (x *search) match(l lines.Line, here place) (fits bool, err error) {
	if x.req.GrepCount {
		x.page.Matches++
		return true, nil
	}
	unit := make([]lines.Line, 0, len(x.held)+1)
	for _, p := range x.held {
		text := make([]byte, p.shown)
		if err := x.v.Read(text, p.at); err != nil {
			return false, err
		}
		unit = append(unit, x.shown(lines.Line{Text: text, Cut: p.cut, End: p.end}))
	}
	fits, err = x.put(append(unit, x.shown(l)), append(x.held, here), true)
	if fits && err == nil {
		x.held = x.held[:0]
		x.page.Matches++
		x.page.GrepOwed = x.req.GrepAfter
	}
	return fits, err
}

// put adds lines that belong together, the last of which is the match if there
// is one. Those that no page has room for are each cut to their share of one.
func (x *search) put(unit []lines.Line, at []place, matched bool) (fits bool, err error) {
	need := 0
	for _, l := range unit {
		need += wide(l, x.req.Raw)
	}
	if need > x.room {
		if len(x.page.Lines) > 0 {
			return false, nil
		}
		for i := range unit {
			shorten(&unit[i], x.req.Limit/len(unit), x.req.Raw)
		}
	}
	for i, l := range unit {
		text := l.Text
		if l.Cut {
			text = append(text, CutMark...)
		}
		if err := x.arrivals(l, at[i]); err != nil {
			return false, err
		}
		x.page.Lines = append(x.page.Lines, paddock.Line{
			Number: x.number - int64(len(unit)-1-i), Offset: at[i].at, Length: int64(len(text)),
			Context: !matched || i < len(unit)-1, Cut: l.Cut,
		})
		x.data = append(x.data, text...)
		x.room -= wide(l, x.req.Raw)
	}
	return true, nil
}

// arrivals adds the entries of a line of the combined stream.
func (x *search) arrivals(l lines.Line, at place) error {
	if x.v.Stream != paddock.Combined {
		return nil
	}
	if x.req.View != "" {
		list, _, _, err := x.v.entries(at.at, make([]byte, at.shown), math.MaxInt)
		for i := range list {
			list[i].Text = ""
		}
		x.page.Entries = append(x.page.Entries, list...)
		return err
	}
	list, _, each, err := x.v.entries(at.at, l.Text, math.MaxInt)
	if err != nil {
		return err
	}
	if n := len(list) - 1; l.Cut && n >= 0 {
		list[n].Text += CutMark
	}
	x.page.Entries = append(x.page.Entries, list...)
	x.valid = x.valid && each
	return nil
}

// again returns where the next page has to begin so that it finds the lines
// that are held, should its first line match.
func (x *search) again() int64 {
	at, end := x.s.At, x.v.Total()
	if at == end && x.v.Sealed {
		return at // there is no next line
	}
	for _, p := range x.held {
		// Where much was looked at, a part of it is enough to have been new: or
		// a few very long lines would be looked at for ever.
		if !x.s.Done() || at == end || p.at >= x.page.Offset+(at-x.page.Offset)/2 {
			return p.at
		}
	}
	return at
}
