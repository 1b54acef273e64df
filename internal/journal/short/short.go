// Package short cuts what is told to what an entry has room for.
//
// # Limits
//
// How much room there is says the caller.
package short

import "unicode/utf8"

// Words returns as much of words as has room, and how many there are if that
// isn't all.
func Words(words []string, room int) (part []string, count int) {
	part = []string{}
	for _, word := range words {
		if room < 8 {
			return part, len(words)
		}
		cut := Text(word, room)
		part = append(part, cut)
		if cut != word {
			return part, len(words)
		}
		room -= len(word) + 3 // quotes and a comma, also of words without bytes
	}
	return part, 0
}

// Text returns text of at most most bytes; where something was left out it ends
// in "…".
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
