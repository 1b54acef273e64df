// Package label makes the label of a run that was given none.
//
// # Limits
//
// What a caller gives is judged elsewhere.
package label

import (
	"strings"
	"unicode/utf8"
)

// Of is the label of a run that was given none: the first of its words.
func Of(argv []string) string {
	const most = 80
	text := strings.ToValidUTF8(strings.Join(argv, " "), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return ' '
		}
		return r
	}, text)
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
