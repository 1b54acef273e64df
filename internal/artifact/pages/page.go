// Package pages reads kept streams: each as it stands at one moment, whole or
// in pages, by lines, by time or through a filter.
//
// A page is what a request asks of a stream at one moment, which package moment
// opens.
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
	"paddock/internal/artifact/pages/moment"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/lines"
)

// MaxEntries bounds a combined page of very small parts; it ends early then.
const MaxEntries = 4096

// Files are the files of a run's output.
type Files = moment.Files

// A view is a stream of which pages are made.
type view struct{ *moment.View }

// Page reads one page, as artifact.Reader.Page promises it.
func Page(f Files, req paddock.PageRequest, sealed bool) (paddock.Page, error) {
	keep, err := checkRequest(&req)
	if err != nil {
		return paddock.Page{}, err
	}
	opened, err := f.View(req.Stream, sealed)
	if err != nil {
		return paddock.Page{}, err
	}
	defer opened.Close()
	v := &view{opened}
	page := paddock.Page{Stream: v.Stream, Total: v.Total()}
	if page.Offset, err = v.begin(req); err != nil {
		return paddock.Page{}, failed(err)
	}
	var data []byte
	valid := true
	page.View = req.View
	switch {
	case keep != nil:
		data, valid, err = v.search(&page, req, keep)
	case req.View != "":
		data, err = v.shown(&page, req)
	default:
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
	if err := knownView(*req); err != nil {
		return nil, err
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

// begin returns where the page starts.
func (v *view) begin(req paddock.PageRequest) (from int64, err error) {
	switch {
	case req.Line > 0:
		from, err = v.line(req.Line)
	case req.Tail > 0:
		from, err = v.Tail(req.Tail)
	default:
		from, err = req.Offset, v.Within(req.Offset)
	}
	if err != nil || req.Since == nil {
		return from, err
	}
	since, err := v.since(*req.Since)
	return max(from, since), err
}

func (v *view) line(n int64) (int64, error) {
	from, seen, err := v.Find(n - 1)
	if err == nil && seen < n-1 {
		err = refuse("line %d is beyond the end: %s has %d complete lines", n, v.Stream, seen)
	}
	return from, err
}

// since returns the position of the first frame that isn't older than t. Bytes
// that no frame covers yet are the newest.
func (v *view) since(t time.Time) (int64, error) {
	// UnixNano is only defined within some 290 years of 1970.
	var at int64
	if t.Year() > 2200 {
		return v.Total(), nil
	} else if t.Year() >= 1970 {
		at = t.UnixNano()
	}
	pos, some, err := v.Frames.Since(at)
	if err != nil {
		return 0, err
	}
	if !some && v.Stream == paddock.Combined {
		return v.Total(), nil
	}
	from := pos[0] + pos[1]
	if s, ok := frames.Number(v.Stream); ok {
		from = pos[s]
	}
	return min(from, v.Total()), nil
}

// whole reads the page's bytes, and its entries when it is of both streams.
func (v *view) whole(page *paddock.Page, req paddock.PageRequest) (data []byte, valid bool, err error) {
	if req.Raw {
		data = make([]byte, min(int64(req.Limit), v.Total()-page.Offset))
		err = v.Read(data, page.Offset)
	} else {
		data, _, err = v.text(page.Offset, req.Limit)
	}
	if err != nil {
		return nil, false, err
	}
	valid = utf8.Valid(data)
	if v.Stream == paddock.Combined {
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

// text reads up to limit characters; a byte that belongs to none counts as one. all
// says that there are no more now, but perhaps the beginning of one.
func (v *view) text(from int64, limit int) (b []byte, all bool, err error) {
	var buf []byte
	for pos, count := 0, 0; ; {
		end := from+int64(len(buf)) == v.Total()
		for pos < len(buf) && count < limit {
			n := 1
			if buf[pos] >= utf8.RuneSelf {
				if !utf8.FullRune(buf[pos:]) && !(end && v.Sealed) {
					break // the rest isn't read yet, or not written
				}
				_, n = utf8.DecodeRune(buf[pos:])
			}
			pos += n
			count++
		}
		if end || count == limit {
			return buf[:pos], end && (count < limit || pos == len(buf)), nil
		}
		// At least one byte for each character that is missing; some slack so
		// that the end isn't reached in ever smaller steps.
		have := len(buf)
		more := int(min(int64(limit-count+utf8.UTFMax), v.Total()-from-int64(have)))
		buf = append(buf, make([]byte, more)...)
		if err := v.Read(buf[have:], from+int64(have)); err != nil {
			return nil, false, err
		}
	}
}

// entries splits data, the combined bytes from a position, by arrival: into at
// most so many, which use so much of data. Where two frames of one stream split
// a character, it goes to the first. It reports whether every text is valid by
// itself.
func (v *view) entries(from int64, data []byte, most int) (list []paddock.Entry, used int, valid bool, err error) {
	pieces, err := v.Frames.Pieces(from, len(data))
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
