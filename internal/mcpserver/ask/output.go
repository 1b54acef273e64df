package ask

import (
	"github.com/google/jsonschema-go/jsonschema"

	"paddock"
)

// Output is the input of command_output.
type Output struct {
	TaskID string `json:"taskId" jsonschema:"as run_command_bg returned it"`
	Stream string `json:"stream,omitzero" jsonschema:"stdout unless given; combined is both in order of arrival"`
	Offset *int64 `json:"offset,omitzero" jsonschema:"first byte to read: 0, or nextOffset of the page before"`
	Limit  *int64 `json:"limit,omitzero" jsonschema:"most characters (bytes with raw) on this page; 50000 unless given"`
	Line   *int64 `json:"line,omitzero" jsonschema:"begin at this line, counted from 1; instead of offset"`
	Tail   *int64 `json:"tail,omitzero" jsonschema:"begin so many lines before the end; instead of offset"`
	Grep   string `json:"grep,omitzero" jsonschema:"keep only lines that match this RE2 expression"`
	Fixed  bool   `json:"fixed,omitzero" jsonschema:"take grep as it is, not as an expression"`
	Ignore bool   `json:"ignoreCase,omitzero" jsonschema:"grep takes upper and lower case for the same"`
	Invert bool   `json:"invert,omitzero" jsonschema:"keep the lines that grep doesn't match"`
	Before *int64 `json:"before,omitzero" jsonschema:"with grep: so many lines before each match too"`
	After  *int64 `json:"after,omitzero" jsonschema:"with grep: so many lines after each match too"`
	Owed   *int64 `json:"owed,omitzero" jsonschema:"with after: owed of the page before"`
	Count  bool   `json:"count,omitzero" jsonschema:"with grep: count the lines, don't return them"`
	View   string `json:"view,omitzero" jsonschema:"clean: without colours, progress bars and hidden characters; color: the same with colours; exact unless given"`
	Raw    bool   `json:"raw,omitzero" jsonschema:"exact bytes: base64 where they aren't UTF-8"`
	WaitMs *int64 `json:"waitMs,omitzero" jsonschema:"wait so long for output at offset when there is none yet; more than 45000 waits 45000"`
}

// mostGrep is the longest expression that is worth compiling.
const mostGrep = 1000

var streams = []paddock.Stream{paddock.Stdout, paddock.Stderr, paddock.Combined}

func (Output) Bounds(p map[string]*jsonschema.Schema) {
	oneOf(p["stream"], streams...)
	atLeast(p["offset"], 0)
	within(p["limit"], 1, paddock.MaxPage)
	atLeast(p["line"], 1)
	atLeast(p["tail"], 1)
	atLeast(p["waitMs"], 0)
	oneOf(p["view"], paddock.ViewClean, paddock.ViewColor)
	for _, name := range []string{"before", "after", "owed"} {
		within(p[name], 0, paddock.MaxContext)
	}
	most := mostGrep
	p["grep"].MaxLength = &most
}

func (in Output) Check() error {
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
	for name, n := range map[string]*int64{"before": in.Before, "after": in.After, "owed": in.Owed} {
		if n != nil && (*n < 0 || *n > paddock.MaxContext) {
			return invalid("%s is %d; want 0 to %d", name, *n, paddock.MaxContext)
		}
	}
	if in.Grep == "" && (in.Fixed || in.Ignore || in.Invert || in.Count || given(in.Before)+given(in.After)+given(in.Owed) > 0) {
		return invalid("fixed, ignoreCase, invert, before, after, owed and count say how to use grep, but grep is missing")
	}
	if v := paddock.View(in.View); v != "" && v != paddock.ViewClean && v != paddock.ViewColor {
		return invalid("view is %q; want clean or color", shortened(in.View, 64))
	}
	if in.View != "" && in.Raw {
		return invalid("view shows text and raw asks for bytes; give one of them")
	}
	if len(in.Grep) > mostGrep {
		return invalid("grep is longer than %d bytes", mostGrep)
	}
	return checkWait(in.WaitMs)
}

// given counts a number that says something; zero is where pages begin anyway.
func given(n *int64) int {
	if n == nil || *n == 0 {
		return 0
	}
	return 1
}

// Page returns the page that is asked for, and a note when it is waited for
// less long than asked.
func (in Output) Page() (req paddock.PageRequest, note string) {
	wait, note := waitOf(in.WaitMs)
	req = paddock.PageRequest{
		Stream: paddock.Stream(in.Stream), Offset: orZero(in.Offset), Limit: int(orZero(in.Limit)),
		Line: orZero(in.Line), Tail: orZero(in.Tail), Grep: in.Grep, Raw: in.Raw, Wait: paddock.Duration(wait),
		GrepFixed: in.Fixed, GrepIgnoreCase: in.Ignore, GrepInvert: in.Invert, GrepCount: in.Count, View: paddock.View(in.View),
		GrepBefore: int(orZero(in.Before)), GrepAfter: int(orZero(in.After)), GrepOwed: int(orZero(in.Owed)),
	}
	if req.Stream == "" {
		req.Stream = paddock.Stdout
	}
	return req, note
}
