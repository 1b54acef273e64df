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

	"paddock/internal/redact/written"
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

// asWritten are the forms that are found as they are: the value itself, escaped as in URLs,
// as in HTML, and as in JSON strings, also in JSON that is in a string itself; and its bytes
// one by one.
func asWritten(value string) []string {
	list := []string{value}
	list = append(list, written.URL(value)...)
	for _, html := range []bool{true, false} {
		inJSON := jsonOf(value, html)
		ascii := asciiOf(inJSON)
		list = append(list, inJSON, strings.ReplaceAll(inJSON, "/", `\/`), ascii, strings.ReplaceAll(ascii, "/", `\/`),
			jsonOf(inJSON, html), jsonOf(ascii, html))
	}
	list = append(list, written.HTML(value)...)
	list = append(list, written.Bytes(value)...)
	slices.Sort(list)
	return slices.Compact(list)
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
// three places that a text can have in a longer one, base32, and hexadecimal digits. A
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
	list = append(list, written.Base32(value)...)
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
