// Package patch says in words how one text became another.
//
// # Limits
//
// It is for reading: names are left to whoever shows the hunks, and what isn't
// text, or is too long, has none.
package patch

import (
	"bytes"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Most is the longest text, in bytes, that is compared line by line.
const Most = 1 << 20

// Hunks returns the hunks of a unified diff from old to new. It is empty when
// either isn't text, or is longer than [Most].
func Hunks(old, new []byte) string {
	if !text(old) || !text(new) || bytes.Equal(old, new) {
		return ""
	}
	whole := diff.Diff("old", old, "new", new)
	for range 3 { // the names
		_, whole, _ = bytes.Cut(whole, []byte("\n"))
	}
	return string(whole)
}

func text(b []byte) bool {
	return len(b) <= Most && utf8.Valid(b) && bytes.IndexByte(b, 0) < 0
}
