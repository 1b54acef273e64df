package mcpserver

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
)

type outputInput struct {
	TaskID string `json:"taskId" jsonschema:"as run_command_bg returned it"`
	Stream string `json:"stream,omitzero" jsonschema:"stdout unless given; combined is both in order of arrival"`
	Offset *int64 `json:"offset,omitzero" jsonschema:"first byte to read: 0, or nextOffset of the page before"`
	Limit  *int64 `json:"limit,omitzero" jsonschema:"most characters (bytes with raw) on this page; 50000 unless given"`
	Line   *int64 `json:"line,omitzero" jsonschema:"begin at this line, counted from 1; instead of offset"`
	Tail   *int64 `json:"tail,omitzero" jsonschema:"begin so many lines before the end; instead of offset"`
	Grep   string `json:"grep,omitzero" jsonschema:"keep only lines that match this RE2 expression"`
	Raw    bool   `json:"raw,omitzero" jsonschema:"exact bytes: base64 where they aren't UTF-8"`
	WaitMs *int64 `json:"waitMs,omitzero" jsonschema:"wait so long for output at offset when there is none yet; more than 45000 waits 45000"`
}

// mostGrep is the longest expression that is worth compiling.
const mostGrep = 1000

var streams = []paddock.Stream{paddock.Stdout, paddock.Stderr, paddock.Combined}

func (outputInput) bounds(p map[string]*jsonschema.Schema) {
	oneOf(p["stream"], streams...)
	atLeast(p["offset"], 0)
	within(p["limit"], 1, paddock.MaxPage)
	atLeast(p["line"], 1)
	atLeast(p["tail"], 1)
	atLeast(p["waitMs"], 0)
	most := mostGrep
	p["grep"].MaxLength = &most
}

func (in outputInput) check() error {
	if in.TaskID == "" {
		return invalid("taskId is missing; want one that run_command_bg returned")
	}
	switch paddock.Stream(in.Stream) {
	case "", paddock.Stdout, paddock.Stderr, paddock.Combined:
	default:
		return invalid("stream is %q; want stdout, stderr or combined", shortened(in.Stream, 64))
	}
	if n := in.Limit; n != nil && (*n < 1 || *n > paddock.MaxPage) {
		return invalid("limit is %d; want 1 to %d", *n, paddock.MaxPage)
	}
	if n := in.Offset; n != nil && *n < 0 {
		return invalid("offset is %d; want at least 0", *n)
	}
	for name, n := range map[string]*int64{"line": in.Line, "tail": in.Tail} {
		if n != nil && *n < 1 {
			return invalid("%s is %d; want at least 1", name, *n)
		}
	}
	if given(in.Offset)+given(in.Line)+given(in.Tail) > 1 {
		return invalid("only one of offset, line and tail can say where the page begins")
	}
	if len(in.Grep) > mostGrep {
		return invalid("grep is longer than %d bytes", mostGrep)
	}
	_, _, err := waitOf(in.WaitMs)
	return err
}

// given counts a number that says something; zero is where pages begin anyway.
func given(n *int64) int {
	if n == nil || *n == 0 {
		return 0
	}
	return 1
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

type outputResult struct {
	TaskID     paddock.RunID  `json:"taskId"`
	Stream     paddock.Stream `json:"stream"`
	Content    string         `json:"content"`
	Encoding   string         `json:"encoding" jsonschema:"utf-8 or base64"`
	Offset     int64          `json:"offset" jsonschema:"first byte of this page"`
	NextOffset int64          `json:"nextOffset" jsonschema:"first byte of the next page"`
	TotalSize  int64          `json:"totalSize" jsonschema:"bytes in the stream so far"`
	HasMore    bool           `json:"hasMore" jsonschema:"there is more to read now"`
	EOF        bool           `json:"eof" jsonschema:"the task has ended and this page is the last"`
	Entries    []entry        `json:"entries,omitzero" jsonschema:"a combined page split by arrival"`
	Matches    *int64         `json:"matches,omitzero" jsonschema:"lines that grep kept"`
	Note       string         `json:"note,omitzero"`
	counters
}

type entry struct {
	At     time.Time      `json:"at"`
	Stream paddock.Stream `json:"stream"`
	Offset int64          `json:"offset" jsonschema:"in its own stream"`
	Length int64          `json:"length" jsonschema:"in bytes"`
	Text   string         `json:"text,omitzero"`
}

// output is command_output.
func (s *session) output(ctx context.Context, c call, in outputInput) (outputResult, error) {
	id, err := taskID(in.TaskID)
	if err != nil {
		return outputResult{}, err
	}
	wait, note, err := waitOf(in.WaitMs)
	if err != nil {
		return outputResult{}, err
	}
	stream := paddock.Stream(in.Stream)
	if stream == "" {
		stream = paddock.Stdout
	}
	page, err := s.page(ctx, c, id, paddock.PageRequest{
		Stream: stream, Offset: orZero(in.Offset), Limit: int(orZero(in.Limit)), Line: orZero(in.Line),
		Tail: orZero(in.Tail), Grep: in.Grep, Raw: in.Raw, Wait: paddock.Duration(wait),
	})
	if err != nil {
		return outputResult{}, found(id, err)
	}
	out := outputResult{
		TaskID: id, Stream: page.Stream, Content: page.Content, Encoding: page.Encoding, Offset: page.Offset,
		NextOffset: page.NextOffset, TotalSize: page.Total, HasMore: page.NextOffset < page.Total, EOF: page.EOF,
		counters: s.counters(ctx),
	}
	for _, e := range page.Entries {
		out.Entries = append(out.Entries, entry{e.At, e.Stream, e.Offset, e.Length, e.Text})
	}
	if in.Grep != "" {
		out.Matches = &page.Matches
	}
	if page.NextOffset == page.Offset && !page.EOF {
		out.Note = note
	}
	return out, nil
}

// page reads one page. When the client closes its side, waiting ends and the
// answer is what is there at that time.
func (s *session) page(ctx context.Context, c call, id paddock.RunID, req paddock.PageRequest) (paddock.Page, error) {
	if req.Wait == 0 {
		return s.App.Output(ctx, s.Principal, id, req)
	}
	defer s.progress(ctx, c, time.Duration(req.Wait))()
	waiting, cancel := s.waiting(ctx)
	defer cancel()
	page, err := s.App.Output(waiting, s.Principal, id, req)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		req.Wait = 0
		return s.App.Output(ctx, s.Principal, id, req)
	}
	return page, err
}
