// Package preview shows the ends of what a run has printed.
//
// # Limits
//
// It is told how output is read.
package preview

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"paddock"
)

// Most is the most characters of a preview, headings included.
const Most = 2000

const (
	mostTail = 1000 // of each stream when both have output

	stdoutHeading = "[stdout tail]\n"
	stderrHeading = "\n[stderr tail]\n"
)

// Of shows the ends of what a run has printed on its two streams.
func Of(stdout, stderr []rune, settled bool) string {
	stdout, stderr = lastOf(stdout, Most), lastOf(stderr, Most)
	switch {
	case len(stdout) > 0 && len(stderr) > 0:
		out, errs := shares(len(stdout), len(stderr), Most-len(stdoutHeading)-len(stderrHeading))
		return stdoutHeading + string(lastOf(stdout, out)) + stderrHeading + string(lastOf(stderr, errs))
	case len(stdout) > 0:
		return string(stdout)
	case len(stderr) > 0:
		return string(stderr)
	case settled:
		return "(no output)"
	}
	return "(no output yet)"
}

func lastOf(text []rune, n int) []rune { return text[max(0, len(text)-n):] }

// shares divides room among two streams: up to 1,000 each, and less for the one
// that has more when the headings leave no room for both.
func shares(a, b, room int) (int, int) {
	a, b = min(a, mostTail), min(b, mostTail)
	if a+b <= room {
		return a, b
	}
	a = max(room-b, min(a, room/2))
	return a, room - a
}

// Characters decodes text that may begin (cutFront) or end (cutBack) inside a
// character: a part of one at such an edge is left out, and any other byte that
// isn't UTF-8 shows as the replacement character.
func Characters(b []byte, cutFront, cutBack bool) []rune {
	for i := 0; cutFront && i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	if cutBack {
		for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
			if utf8.RuneStart(b[i]) {
				if !utf8.FullRune(b[i:]) {
					b = b[:i]
				}
				break
			}
		}
	}
	return []rune(strings.ToValidUTF8(string(b), "\uFFFD"))
}

// Bytes are those of a page.
func Bytes(page paddock.Page) ([]byte, error) {
	switch page.Encoding {
	case "base64":
		data, err := base64.StdEncoding.DecodeString(page.Content)
		if err != nil {
			return nil, fmt.Errorf("%w: a raw page that isn't base64: %w", paddock.ErrFault, err)
		}
		return data, nil
	case "utf-8":
		return []byte(page.Content), nil
	}
	return nil, fmt.Errorf("%w: a page in encoding %q", paddock.ErrFault, page.Encoding)
}
