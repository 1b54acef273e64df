package paddock

import "time"

// A Stream names what of a run's output is meant.
type Stream string

// The streams. Combined is both in order of arrival.
const (
	Stdout   Stream = "stdout"
	Stderr   Stream = "stderr"
	Combined Stream = "combined"
)

// Bounds of one page of output.
const (
	DefaultPage = 50_000  // characters, or bytes when Raw
	MaxPage     = 200_000 // characters, or bytes when Raw
	MaxWait     = 45 * time.Second
	MaxContext  = 50   // lines before a match, and after it
	MaxLines    = 4096 // lines on a page with Grep
)

// A View says how output is shown.
type View string

// The views. The zero value is what the program wrote.
const (
	ViewClean View = "clean" // text, without what terminals obey and readers don't see
	ViewColor View = "color" // the same with colours
)

// A PageRequest asks for a part of a run's output. The zero value asks for the
// first 50,000 characters of stdout. At most one of Line, Tail and a non-zero
// Offset may be set.
type PageRequest struct {
	Stream Stream `json:"stream,omitempty"`
	// Offset is in bytes from the start of the stream. In the combined stream
	// it counts the bytes of both in order of arrival.
	Offset int64 `json:"offset,omitempty"`
	// Line, when positive, starts at the beginning of that line, counted from one.
	Line int64 `json:"line,omitempty"`
	// Tail, when positive, starts that many lines before the end.
	Tail int64 `json:"tail,omitempty"`
	// Limit is the most characters returned (bytes when Raw); zero means DefaultPage.
	Limit int `json:"limit,omitempty"`
	// Grep keeps only lines that match this RE2 expression; GrepFixed takes it literally.
	Grep      string `json:"grep,omitempty"`
	GrepFixed bool   `json:"grep_fixed,omitempty"`
	// GrepIgnoreCase takes letters for the same whatever their case; GrepInvert
	// keeps the lines that don't match.
	GrepIgnoreCase bool `json:"grep_ignore_case,omitempty"`
	GrepInvert     bool `json:"grep_invert,omitempty"`
	// GrepBefore and GrepAfter are how many lines around each match are kept too.
	GrepBefore int `json:"grep_before,omitempty"`
	GrepAfter  int `json:"grep_after,omitempty"`
	// GrepOwed is the GrepOwed of the page before: lines that its last match
	// still wants after it.
	GrepOwed int `json:"grep_owed,omitempty"`
	// GrepCount asks for the number of matches and not for the lines.
	GrepCount bool `json:"grep_count,omitempty"`
	// Raw asks for bytes: base64 unless they are valid UTF-8.
	Raw bool `json:"raw,omitempty"`
	// Unmasked asks for what is hidden of secrets, too. No agent gets that.
	Unmasked bool `json:"unmasked,omitempty"`
	// View asks for text that is shown and not as it was written. Offsets and
	// totals stay those of what was written, and Grep sees the text that is shown.
	View View `json:"view,omitempty"`
	// Since, when set, starts at the first output that arrived at or after it.
	Since *time.Time `json:"since,omitempty"`
	// Wait is how long to wait for more when there is nothing at Offset yet.
	Wait Duration `json:"wait_ms,omitempty"`
}

// A Page is a part of a run's output. Pages read one after another from
// NextOffset reassemble the stream exactly.
type Page struct {
	Stream Stream `json:"stream"`
	// Content is text, or base64 when Encoding says so.
	Content  string `json:"content"`
	Encoding string `json:"encoding"` // "utf-8" or "base64"
	// Offset is where this page begins and NextOffset where the next one does.
	Offset     int64 `json:"offset"`
	NextOffset int64 `json:"next_offset"`
	// Total is the stream's size as of this read; it grows until the run settles.
	Total int64 `json:"total"`
	// EOF means that the run is settled and NextOffset is its last.
	EOF bool `json:"eof"`
	// View is how Content shows the bytes; their number is another then.
	View View `json:"view,omitempty"`
	// Entries split a combined page by arrival; their texts concatenate to
	// Content. In a base64 page they have no texts: their lengths split the bytes.
	// With both a View and a Grep they have none either.
	Entries []Entry `json:"entries,omitempty"`
	// Matches counts the lines on this page that a Grep asked for.
	Matches int64 `json:"matches,omitempty"`
	// Lines say where each line of a page with Grep is from; their lengths split
	// the content.
	Lines []Line `json:"lines,omitempty"`
	// GrepOwed says how many lines after the last match weren't there yet, or
	// didn't fit; the request for the next page takes it along.
	GrepOwed int `json:"grep_owed,omitempty"`
	// Losses say what came after the end of what was kept and was dropped. They
	// are on pages that reach it.
	Losses []Loss `json:"losses,omitempty"`
}

// A Line says where a line that a Grep kept is from.
type Line struct {
	Number int64 `json:"line"`   // counted from one
	Offset int64 `json:"offset"` // of its first byte in the stream
	// Length is how many bytes of the content it takes.
	Length int64 `json:"length"`
	// Context says that it is there for a match near it, and Cut that only its
	// beginning is.
	Context bool `json:"context,omitempty"`
	Cut     bool `json:"cut,omitempty"`
}

// An Entry is a piece of a combined page that arrived on one stream at one time.
type Entry struct {
	At     time.Time `json:"at"`
	Stream Stream    `json:"stream"`
	Offset int64     `json:"offset"` // in its own stream
	Length int64     `json:"length"`
	Text   string    `json:"text,omitempty"`
}
