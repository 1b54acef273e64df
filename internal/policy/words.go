package policy

import (
	"fmt"
	"strings"

	"paddock/internal/policy/wellformed"
)

// quote shows a caller's word within a message: on one line, and not at length.
func quote(w string) string {
	const most = 100
	if len(w) > most {
		w = strings.ToValidUTF8(w[:most], "") + "…"
	}
	return fmt.Sprintf("%q", w)
}

// list joins words for a message, but not endlessly many; none are "(none)".
func list(words []string) string {
	const mostWords, mostBytes = 40, 4000
	if len(words) == 0 {
		return "(none)"
	}
	var b strings.Builder
	for i, w := range words {
		if i == mostWords || b.Len()+len(w) > mostBytes && i > 0 {
			fmt.Fprintf(&b, " and %d more", len(words)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(w)
	}
	return b.String()
}

// shown is a name from the machine within a message: as it is, unless it could
// be taken for something else.
func shown(name string) string {
	if wellformed.OneLine(name) {
		return name
	}
	return quote(name)
}
