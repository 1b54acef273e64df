package answer

import (
	"time"

	"paddock"
)

// A Page is the result of command_output.
type Page struct {
	TaskID     paddock.RunID  `json:"taskId"`
	Stream     paddock.Stream `json:"stream"`
	Content    string         `json:"content"`
	Encoding   string         `json:"encoding" jsonschema:"utf-8 or base64"`
	Offset     int64          `json:"offset" jsonschema:"first byte of this page"`
	NextOffset int64          `json:"nextOffset" jsonschema:"first byte of the next page"`
	TotalSize  int64          `json:"totalSize" jsonschema:"bytes in the stream so far"`
	HasMore    bool           `json:"hasMore" jsonschema:"there is more to read now"`
	EOF        bool           `json:"eof" jsonschema:"the task has ended and this page is the last"`
	Entries    []Entry        `json:"entries,omitzero" jsonschema:"a combined page split by arrival"`
	View       paddock.View   `json:"view,omitzero" jsonschema:"how content shows the bytes; exact unless given"`
	Matches    *int64         `json:"matches,omitzero" jsonschema:"lines that grep kept"`
	Lines      []Line         `json:"lines,omitzero" jsonschema:"where each line that grep kept is from"`
	Owed       int            `json:"owed,omitzero" jsonschema:"lines after the last match that the next page begins with if it is given this"`
	Losses     []Loss         `json:"losses,omitzero" jsonschema:"what came after the end of what is kept and was dropped"`
	Note       string         `json:"note,omitzero"`
	Counters
}

// An Entry is a piece of a combined page.
type Entry struct {
	At     time.Time      `json:"at"`
	Stream paddock.Stream `json:"stream"`
	Offset int64          `json:"offset" jsonschema:"in its own stream"`
	Length int64          `json:"length" jsonschema:"in bytes"`
	Text   string         `json:"text,omitzero"`
}

// A Line says where a line that grep kept is from.
type Line struct {
	Line    int64 `json:"line" jsonschema:"counted from 1"`
	Offset  int64 `json:"offset"`
	Context bool  `json:"context,omitzero" jsonschema:"no match, but near one"`
	Cut     bool  `json:"cut,omitzero" jsonschema:"only its beginning is here"`
}

// A Loss says what of a stream was dropped: all that came after offset.
type Loss struct {
	Stream paddock.Stream     `json:"stream"`
	Offset int64              `json:"offset" jsonschema:"where it began"`
	Bytes  int64              `json:"bytes"`
	First  time.Time          `json:"first" jsonschema:"when it began"`
	Last   time.Time          `json:"last"`
	Cause  paddock.ReasonKind `json:"cause,omitzero"`
}

func losses(all []paddock.Loss) (out []Loss) {
	for _, l := range all {
		out = append(out, Loss(l))
	}
	return out
}

// NewPage shows a page; counted says that lines were filtered.
func NewPage(id paddock.RunID, page paddock.Page, counted bool, c Counters) Page {
	out := Page{
		TaskID: id, Stream: page.Stream, Content: page.Content, Encoding: page.Encoding, Offset: page.Offset,
		NextOffset: page.NextOffset, TotalSize: page.Total, HasMore: page.NextOffset < page.Total, EOF: page.EOF, View: page.View,
		Losses: losses(page.Losses), Counters: c,
	}
	for _, e := range page.Entries {
		out.Entries = append(out.Entries, Entry{e.At, e.Stream, e.Offset, e.Length, e.Text})
	}
	if counted {
		out.Matches, out.Owed = &page.Matches, page.GrepOwed
	}
	for _, l := range page.Lines {
		out.Lines = append(out.Lines, Line{l.Number, l.Offset, l.Context, l.Cut})
	}
	return out
}
