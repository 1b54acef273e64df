// Package written has forms in which programs write a value where they don't write it as
// it is: in URLs, in HTML and XML, as a list of its bytes, in base32.
//
// # Limits
//
// What is escaped twice isn't among them, nor are bytes in octal digits. A value of more
// than a kilobyte has no list here.
package written

import (
	"encoding/base32"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// mostListed is how long a value is that is looked for as a list of its bytes in one line:
// each takes many times the memory of the value, and nobody has longer lines of them.
const mostListed = 1024

// entities are what libraries write in HTML and XML, beside &amp; &lt; and &gt;. Most programs
// that have this package in them never look for a value.
var entities = sync.OnceValue(func() []*strings.Replacer {
	return []*strings.Replacer{
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"), // what stands between tags
		strings.NewReplacer("&", "&amp;", `"`, "&quot;"),            // browsers, in attributes
		entity(`"`, "&quot;"),
		entity(`"`, "&#34;", "'", "&#39;"), // Go
		entity(`"`, "&#34;", "'", "&#39;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;"),  // Go's XML
		entity(`"`, "&quot;", "'", "&#x27;"),                                             // Python
		entity(`"`, "&quot;", "'", "&#39;"),                                              // lodash, Ruby
		entity(`"`, "&quot;", "'", "&#039;"),                                             // PHP
		entity(`"`, "&quot;", "'", "&apos;"),                                             // XML
		entity(`"`, "&quot;", "'", "&#x27;", "/", "&#x2F;"),                              // OWASP
		entity(`"`, "&quot;", "'", "&#x27;", "`", "&#x60;"),                              // Underscore
		entity(`"`, "&quot;", "'", "&#x27;", "`", "&#x60;", "=", "&#x3D;"),               // Handlebars
		entity(`"`, "&quot;", "'", "&#39;", "/", "&#x2F;", "`", "&#x60;", "=", "&#x3D;"), // Mustache
	}
})

func entity(more ...string) *strings.Replacer {
	return strings.NewReplacer(append([]string{"&", "&amp;", "<", "&lt;", ">", "&gt;"}, more...)...)
}

// HTML are the forms of a value in HTML and XML: with entities where they must be, with
// numbers also for what isn't ASCII, and with numbers for every character.
func HTML(value string) (list []string) {
	for _, e := range entities() {
		text := e.Replace(value)
		list = append(list, text)
		if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
			list = append(list, numbered(text, "&#%d;", utf8.RuneSelf), numbered(text, "&#x%x;", utf8.RuneSelf), numbered(text, "&#x%X;", utf8.RuneSelf))
		}
	}
	if len(value) > mostListed {
		return list
	}
	return append(list, numbered(value, "&#%d;", 0), numbered(value, "&#x%x;", 0))
}

// numbered writes the characters from least on as numbers.
func numbered(text, form string, least rune) string {
	var b strings.Builder
	for _, r := range text {
		if r < least {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, form, r)
		}
	}
	return b.String()
}

// lists are how each byte is written in lists of bytes, and what stands between them. Each
// costs every start of a run with secrets, so only what programs do by themselves is here.
var lists = []struct {
	form    string
	between []string
}{
	{"%02x", []string{" ", ":"}},     // Node's buffers, Go's and Python's
	{"%02X", []string{" ", ":"}},     // fingerprints
	{"0x%02x", []string{", "}},       // source text
	{`\x%02x`, []string{""}},         // Python, C and shells
	{"%%%02X", []string{""}},         // a URL that escapes everything
	{"%d", []string{" ", ",", ", "}}, // Go's bytes, JSON's, Python's
}

// Bytes are the forms of a value as a list of its bytes, in one line.
func Bytes(value string) (out []string) {
	if len(value) > mostListed {
		return nil
	}
	for _, l := range lists {
		each := make([]string, len(value))
		for i := range len(value) {
			each[i] = fmt.Sprintf(l.form, value[i])
		}
		for _, between := range l.between {
			out = append(out, strings.Join(each, between))
		}
	}
	return out
}

// Base32 are the forms of a value in base32, at each of the five places that a text can
// have in a longer one.
func Base32(value string) (list []string) {
	for before, beginning := range []int{0, 2, 4, 5, 7} {
		text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append(make([]byte, before), value...))
		if (before+len(value))%5 != 0 {
			text = text[:len(text)-1] // it depends on what follows
		}
		list = append(list, text[beginning:])
	}
	return list
}
