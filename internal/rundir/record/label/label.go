// Package label names runs that were given no label.
//
// # Limits
//
// What it returns is for people: it may be cut, and is nothing to find a run by.
package label

import (
	"strings"
	"unicode/utf8"
)

// Of returns the label of a run of argv that was given none: its first words, on
// one line.
func Of(argv []string) string {
	const most = 80
	label := strings.ToValidUTF8(strings.Join(argv, " "), "\uFFFD")
	label = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return ' '
		}
		return r
	}, label)
	if len(label) <= most {
		return label
	}
	cut := most - len("…")
	for !utf8.RuneStart(label[cut]) {
		cut--
	}
	return label[:cut] + "…"
}
