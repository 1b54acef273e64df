package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// parts are a value and, where it has more than one, its lines: programs print
// keys line by line, indented or with other line ends.
func parts(value string) []string {
	value = strings.TrimRight(value, "\r\n")
	if len(value) < MinValue {
		return nil
	}
	list := []string{value}
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if len(line) >= MinValue && line != value && !strings.HasPrefix(line, "-----") {
			list = append(list, line)
		}
	}
	return list
}

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

// asWritten are the forms that are found as they are: the value itself, escaped as in URLs,
// and as in JSON strings, also in JSON that is in a string itself.
func asWritten(value string) []string {
	list := []string{value}
	for _, keep := range kept {
		list = append(list, escaped(value, keep))
	}
	for _, keep := range keptInForms {
		list = append(list, strings.ReplaceAll(escaped(value, keep), "%20", "+"))
	}
	for _, s := range list[1:] {
		list = append(list, lowerEscapes(s))
	}
	for _, html := range []bool{true, false} {
		inJSON := jsonOf(value, html)
		ascii := asciiOf(inJSON)
		list = append(list, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), ascii, strings.ReplaceAll(ascii, "/", `\/`),
			jsonOf(inJSON, html), jsonOf(ascii, html))
	}
	slices.Sort(list)
	return slices.Compact(list)
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

// lowerEscapes writes the digits of escapes in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// jsonOf is value as it stands in a JSON string, with or without the care for HTML.
func jsonOf(value string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(value) != nil {
		return value
	}
	text := strings.TrimSuffix(b.String(), "\n")
	return text[1 : len(text)-1]
}

// asciiOf escapes what isn't ASCII in a JSON string.
func asciiOf(inJSON string) string {
	var b strings.Builder
	for _, r := range inJSON {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// headless is how many characters of a form that is broken into lines may stand
// before the break without being waited for, see [Stream].
const headless = 2

// encoded are the forms that may be broken into lines: base64 at each of the
// three places that a text can have in a longer one, and hexadecimal digits. A
// form is also looked for without its first characters, which may end a line.
func encoded(value string) (list []string) {
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before, beginning := range []int{0, 2, 3} {
			text := e.EncodeToString(append(make([]byte, before), value...))
			if (before+len(value))%3 != 0 {
				text = text[:len(text)-1] // it depends on what follows
			}
			list = append(list, text[beginning:])
		}
	}
	digits := hex.EncodeToString([]byte(value))
	list = append(list, digits, strings.ToUpper(digits))
	for _, s := range slices.Clone(list) {
		for n := 1; n <= headless; n++ {
			list = append(list, s[n:])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
