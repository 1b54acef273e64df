package written

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// unreserved is what every way of escaping for URLs leaves as it is, but for old ones.
const unreserved = "-_.~"

// kept are the characters, beside letters and digits, that ways of escaping for URLs leave
// as they are: they differ between libraries, and between the parts of a URL.
var kept = []string{
	"",
	unreserved,                              // jq, Go's query, Python's quote_plus
	unreserved + "/",                        // Python's quote
	unreserved + "!*'()",                    // encodeURIComponent
	unreserved + "!*'();,/?:@&=+$#",         // encodeURI
	unreserved + "!*'();,/?:@&=+$#[]%",      // Python's requests, where a URL is given whole
	unreserved + "$&+=:@",                   // Go: a word of a path, a path, a name, a fragment
	unreserved + "$&+=:@/,;",                //
	unreserved + "$&+=,;",                   //
	unreserved + "$&+=:@/,;?!()*",           //
	unreserved + "/+&%=?:,;@$!*()|^`{}[]\\", // browsers: a query, a path, a name, a fragment
	unreserved + "/+&%=:,;@$!*'()|^[]",      //
	unreserved + "+&%,$!*'()",               //
	unreserved + "/+&%=?:,;@$!*'()#|^{}[]\\",
}

// keptInForms are those of forms, where + stands for a space: of Go and Python, of browsers
// and Java, and of PHP.
var keptInForms = []string{unreserved, "-_.*", "-_."}

// URL are the forms of a value that is escaped as in URLs.
func URL(value string) (list []string) {
	for _, keep := range kept {
		list = append(list, escaped(value, keep))
	}
	for _, keep := range keptInForms {
		list = append(list, strings.ReplaceAll(escaped(value, keep), "%20", "+"))
	}
	for _, s := range list {
		list = append(list, LowerEscapes(s))
	}
	return list
}

// escaped escapes every byte but letters, digits and those in keep.
func escaped(value, keep string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c < utf8.RuneSelf && ('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte(keep, c) >= 0) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// LowerEscapes writes the digits of escapes in lower case.
func LowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}
