package pages

import (
	"bytes"
	"unicode/utf8"

	"paddock"
	"paddock/internal/artifact/pages/moment/frames"
	"paddock/internal/artifact/pages/moment/lines"
	"paddock/internal/clean"
)

// mostHeld is how much of a sequence without an end is left to the next page.
const mostHeld = 4 << 10

var modes = map[paddock.View]clean.Mode{paddock.ViewClean: clean.Text, paddock.ViewColor: clean.Color}

func knownView(req paddock.PageRequest) error {
	if _, ok := modes[req.View]; req.View != "" && !ok {
		return refuse("there is no view %.40q; ask for clean or color, or leave it out for what was written", req.View)
	}
	if req.View != "" && req.Raw {
		return refuse("a view shows text and raw asks for bytes: only one of them can be given")
	}
	return nil
}

// shown reads a page as its view shows it. It ends with a line where it can: a
// line is shown as it was left.
func (v *view) shown(page *paddock.Page, req paddock.PageRequest) ([]byte, error) {
	raw, all, err := v.text(page.Offset, req.Limit)
	if err != nil {
		return nil, err
	}
	for {
		n := ending(raw, modes[req.View], all, v.Sealed)
		data, used, entries, err := v.show(page.Offset, raw[:n], req.View)
		if err != nil {
			return nil, err
		}
		// What is spelled takes more room than what was written.
		if utf8.RuneCount(data) <= req.Limit || used <= 1 {
			page.Entries, page.NextOffset = entries, page.Offset+int64(used)
			return data, nil
		}
		half := raw[:(used+1)/2]
		raw, all = half[:max(1, len(half)-lines.CutCharacter(half))], false
	}
}

// ending returns how much of raw is shown now; whole says that there is no more
// of it now, and sealed that there never will be.
func ending(raw []byte, mode clean.Mode, whole, sealed bool) int {
	if whole && sealed {
		return len(raw)
	}
	if end := bytes.LastIndexByte(raw, '\n') + 1; !whole && end > 0 {
		return end
	}
	w := clean.New(nothing{}, mode)
	_, _ = w.Write(raw) // to nowhere
	held := w.Held()
	// One that fills the page must not keep the reader where it is.
	if held > mostHeld || !whole && held == len(raw) {
		return len(raw)
	}
	return len(raw) - held
}

type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }

// show cleans raw, which is at off. Each stream has a view of its own: one that
// stops in the middle of a line doesn't change how the other is shown.
func (v *view) show(off int64, raw []byte, view paddock.View) (data []byte, used int, list []paddock.Entry, err error) {
	mode := modes[view]
	if v.Stream != paddock.Combined {
		return clean.Bytes(raw, mode), len(raw), nil, nil
	}
	list, used, _, err = v.entries(off, raw, MaxEntries)
	if err != nil {
		return nil, 0, nil, err
	}
	var each [2]bytes.Buffer
	writers := [2]*clean.Writer{clean.New(&each[0], mode), clean.New(&each[1], mode)}
	var last [2]int
	for at, i := 0, 0; i < len(list); i++ {
		e := &list[i]
		s, _ := frames.Number(e.Stream)
		_, _ = writers[s].Write(raw[at : at+int(e.Length)]) // a buffer takes everything
		at += int(e.Length)
		e.Text, last[s] = each[s].String(), i
		each[s].Reset()
	}
	for s, w := range writers {
		_ = w.Flush()
		if len(list) > 0 {
			list[last[s]].Text += each[s].String()
		}
	}
	for _, e := range list {
		data = append(data, e.Text...)
	}
	return data, used, list, nil
}
