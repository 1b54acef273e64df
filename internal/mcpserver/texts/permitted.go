package texts

import (
	"fmt"
	"strings"
)

// Permitted says which words argv[0] may be, within 600 bytes.
func Permitted(words []string) string {
	if len(words) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nargv[0] may be: ")
	for i, w := range words {
		if b.Len()+len(w) > 560 {
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
