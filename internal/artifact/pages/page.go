// Package pages reads kept streams: each as it stands at one moment, whole or
// in pages, by lines, by time or through a filter.
//
// A [View] holds the files open and is of the moment in which it was opened;
// a page is what a request asks of a View. What the streams are made of is
// known to package frames, and where their lines are to package lines.
//
// # Limits
//
// Nothing is written, and nothing is waited for. Whether a stream is complete
// is what the caller says. How files are opened is the caller's too, who must
// keep links and pipes out.
package pages

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"paddock"
	"paddock/internal/artifact/pages/frames"
	"paddock/internal/artifact/pages/lines"
)

// MaxEntries bounds a combined page of very small parts; it ends early then.
const MaxEntries = 4096

// Page reads one page, as artifact.Reader.Page promises it.
func (f Files) Page(req paddock.PageRequest, sealed bool) (paddock.Page, error) {
	stream, err := knownStream(req.Stream)
	if err != nil {
		return paddock.Page{}, err
	}
	keep, err := checkRequest(&req)
	if err != nil {
		return paddock.Page{}, err
	}
	v, err := f.open(stream, sealed)
	if err != nil {
		return paddock.Page{}, err
	}
	defer v.Close()
	page := paddock.Page{Stream: stream, Total: v.total}
	if page.Offset, err = v.begin(req); err != nil {
		return paddock.Page{}, failed(err)
	}
	var data []byte
	valid := true
	if keep != nil {
		data, valid, err = v.search(&page, req, keep)
	} else {
		data, valid, err = v.whole(&page, req)
	}
	if err != nil {
		return paddock.Page{}, failed(err)
	}
	page.EOF = sealed && page.NextOffset == page.Total
	page.Content, page.Encoding = string(data), "utf-8"
	if !valid {
		page.Content, page.Encoding = base64.StdEncoding.EncodeToString(data), "base64"
		for i := range page.Entries {
			page.Entries[i].Text = ""
		}
	}
	return page, nil
}

func refuse(format string, args ...any) error {
	return paddock.Refused(paddock.InvalidRequest, format, args...)
}

// failed says what couldn't be done; a refusal says it itself.
func failed(err error) error {
	if refusal := (*paddock.Refusal)(nil); errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("reading output: %w", err)
}

// knownStream returns the stream meant; none means stdout.
func knownStream(s paddock.Stream) (paddock.Stream, error) {
	switch s {
	case "":
		return paddock.Stdout, nil
	case paddock.Stdout, paddock.Stderr, paddock.Combined:
		return s, nil
	}
	return "", refuse("there is no stream %.40q; ask for stdout, stderr or combined", s)
}

// checkRequest fills in the limit and returns the filter, if there is one.
func checkRequest(req *paddock.PageRequest) (*lines.Filter, error) {
	set := 0
	for _, n := range []struct {
		name  string
		value int64
	}{{"offset", req.Offset}, {"line", req.Line}, {"tail", req.Tail}} {
		if n.value < 0 {
			return nil, refuse("%s is %d; it can't be negative", n.name, n.value)
		}
		if n.value > 0 {
			set++
		}
	}
	if set > 1 {
		return nil, refuse("only one of offset, line and tail can be given")
	}
	if req.Limit < 0 || req.Limit > paddock.MaxPage {
		return nil, refuse("limit is %d; it must be between 1 and %d, or left out for %d", req.Limit, paddock.MaxPage, paddock.DefaultPage)
	}
	if req.Limit == 0 {
		req.Limit = paddock.DefaultPage
	}
	return newFilter(*req)
}

func (v *View) within(offset int64) error {
	if offset < 0 {
		return refuse("offset is %d; it can't be negative", offset)
	}
	if offset > v.total {
		return refuse("offset %d is beyond the end: %s has %d bytes", offset, v.stream, v.total)
	}
	return nil
}

// begin returns where the page starts.
func (v *View) begin(req paddock.PageRequest) (from int64, err error) {
	switch {
	case req.Line > 0:
		from, err = v.line(req.Line)
	case req.Tail > 0:
		from, err = v.tail(req.Tail)
	default:
		from, err = req.Offset, v.within(req.Offset)
	}
	if err != nil || req.Since == nil {
		return from, err
	}
	since, err := v.since(*req.Since)
	return max(from, since), err
}

func (v *View) line(n int64) (int64, error) {
	from, seen, err := v.find(n - 1)
	if err == nil && seen < n-1 {
		err = refuse("line %d is beyond the end: %s has %d complete lines", n, v.stream, seen)
	}
	return from, err
}

// since returns the position of the first frame that isn't older than t. Bytes
// that no frame covers yet are the newest.
func (v *View) since(t time.Time) (int64, error) {
	// UnixNano is only defined within some 290 years of 1970.
	var at int64
	if t.Year() > 2200 {
		return v.total, nil
	} else if t.Year() >= 1970 {
		at = t.UnixNano()
	}
	pos, some, err := v.frames.Since(at)
	if err != nil {
		return 0, err
	}
	if !some && v.stream == paddock.Combined {
		return v.total, nil
	}
	from := pos[0] + pos[1]
	if s, ok := frames.Number(v.stream); ok {
		from = pos[s]
	}
	return min(from, v.total), nil
}

// whole reads the page's bytes, and its entries when it is of both streams.
func (v *View) whole(page *paddock.Page, req paddock.PageRequest) (data []byte, valid bool, err error) {
	if req.Raw {
		data = make([]byte, min(int64(req.Limit), v.total-page.Offset))
		err = v.Read(data, page.Offset)
	} else {
		data, err = v.text(page.Offset, req.Limit)
	}
	if err != nil {
		return nil, false, err
	}
	valid = utf8.Valid(data)
	if v.stream == paddock.Combined {
		list, used, each, err := v.entries(page.Offset, data, MaxEntries)
		if err != nil {
			return nil, false, err
		}
		page.Entries, data = list, data[:used]
		valid = each
	}
	page.NextOffset = page.Offset + int64(len(data))
	return data, valid, err
}

// text reads up to limit characters; a byte that belongs to none counts as one.
func (v *View) text(from int64, limit int) ([]byte, error) {
	var buf []byte
	for pos, count := 0, 0; ; {
		end := from+int64(len(buf)) == v.total
		for pos < len(buf) && count < limit {
			n := 1
			if buf[pos] >= utf8.RuneSelf {
				if !utf8.FullRune(buf[pos:]) && !(end && v.sealed) {
					break // the rest isn't read yet, or not written
				}
				_, n = utf8.DecodeRune(buf[pos:])
			}
			pos += n
			count++
		}
		if end || count == limit {
			return buf[:pos], nil
		}
		// At least one byte for each character that is missing; some slack so
		// that the end isn't reached in ever smaller steps.
		have := len(buf)
		more := int(min(int64(limit-count+utf8.UTFMax), v.total-from-int64(have)))
		buf = append(buf, make([]byte, more)...)
		if err := v.Read(buf[have:], from+int64(have)); err != nil {
			return nil, err
		}
	}
}

// entries splits data, the combined bytes from a position, by arrival: into at
// most so many, which use so much of data. Where two frames of one stream split
// a character, it goes to the first. It reports whether every text is valid by
// itself.
func (v *View) entries(from int64, data []byte, most int) (list []paddock.Entry, used int, valid bool, err error) {
	pieces, err := v.frames.Pieces(from, len(data))
	if err != nil {
		return nil, 0, false, err
	}
	valid = true
	begin := 0 // of the last entry; used is its end
	finish := func() {
		if n := len(list) - 1; n >= 0 {
			list[n].Length, list[n].Text = int64(used-begin), string(data[begin:used])
			valid = valid && utf8.Valid(data[begin:used])
		}
	}
	at := 0
	for _, p := range pieces {
		at += p.Length
		if n := len(list) - 1; n >= 0 && list[n].Stream == frames.Streams[p.Stream] {
			for used < at && lines.CutCharacter(data[begin:used]) > 0 && !utf8.RuneStart(data[used]) {
				used++
			}
		}
		if used == at {
			continue
		}
		finish()
		if len(list) == most {
			return list, used, valid, nil
		}
		begin, used = used, at
		list = append(list, paddock.Entry{
			At: time.Unix(0, p.At).UTC(), Stream: frames.Streams[p.Stream],
			Offset: p.Offset + int64(p.Length-(at-begin)),
		})
	}
	finish()
	return list, used, valid, nil
}
