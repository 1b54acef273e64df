package answer

import (
	"strings"
	"unicode/utf8"
)

// MostPreview is the most characters of a preview, headings included.
const MostPreview = 2000

const (
	mostTail = 1000 // of each stream when both have output

	stdoutHeading = "[stdout tail]\n"
	stderrHeading = "\n[stderr tail]\n"
)

// Preview shows the ends of what a run has printed on its two streams.
func Preview(stdout, stderr []rune, settled bool) string {
	stdout, stderr = lastOf(stdout, MostPreview), lastOf(stderr, MostPreview)
	switch {
	case len(stdout) > 0 && len(stderr) > 0:
		out, errs := shares(len(stdout), len(stderr), MostPreview-len(stdoutHeading)-len(stderrHeading))
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
