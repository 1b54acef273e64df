package parse

import (
	"bytes"
	"unicode/utf8"

	"paddock"
	"paddock/internal/clean"
)

// Visible is the beginning of text for reading: NUL, which ends names, becomes a
// line break, what isn't text a replacement, and what terminals obey is gone.
func Visible(text []byte, most int) string {
	text = text[:min(len(text), most*utf8.UTFMax)]
	text = bytes.ReplaceAll(bytes.ToValidUTF8(text, []byte("\uFFFD")), []byte{0}, []byte("\n"))
	return Shortened(string(clean.Bytes(text, clean.Text)), most)
}

// Shortened cuts s to at most so many characters.
func Shortened(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// Exited returns the status of a program that ended by itself.
func Exited(run paddock.Run) (status int, ok bool) {
	if run.State != paddock.Exited || run.Outcome == nil || run.Outcome.Reason.ExitCode == nil {
		return 0, false
	}
	return *run.Outcome.Reason.ExitCode, true
}
