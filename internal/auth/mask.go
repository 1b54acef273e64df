package auth

import "strings"

// Mask returns text with everything that begins as a credential of ours replaced by
// its beginning and an ellipsis, whether the rest is right or not: for logs.
func Mask(text string) string {
	var out strings.Builder
	for text != "" {
		at, kind := first(text)
		if at < 0 {
			break
		}
		rest := text[at+len(kind):]
		tail := strings.TrimLeft(rest, digits+"_")
		out.WriteString(text[:at+len(kind)])
		if len(tail) < len(rest) {
			out.WriteString("…")
		}
		text = tail
	}
	out.WriteString(text)
	return out.String()
}

// Within reports whether text has something in it that begins as a credential of ours
// and goes on for as long as one that was cut a little.
func Within(text string) bool {
	for {
		at, kind := first(text)
		if at < 0 {
			return false
		}
		rest := text[at+len(kind):]
		tail := strings.TrimLeft(rest, digits+"_")
		if len(rest)-len(tail) >= randomly/2 {
			return true
		}
		text = tail
	}
}

// first finds the first beginning of a credential.
func first(text string) (int, Kind) {
	at, found := -1, Kind("")
	for _, k := range Kinds() {
		if i := strings.Index(text, string(k)); i >= 0 && (at < 0 || i < at) {
			at, found = i, k
		}
	}
	return at, found
}
