package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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

// lookAlike returns the one of words that s only looks like, or "".
func lookAlike(s string, words []string) string {
	if len(s) > 100 || strings.IndexFunc(s, func(c rune) bool { return c >= utf8.RuneSelf }) < 0 {
		return ""
	}
	plain := strings.Map(plainLetter, s)
	if slices.Contains(words, plain) {
		return plain
	}
	return ""
}

// plainLetter returns the ASCII letter that c can be mistaken for, -1 for what
// isn't seen at all, or c.
func plainLetter(c rune) rune {
	switch {
	case 0xFF01 <= c && c <= 0xFF5E: // full width
		return c - 0xFF01 + '!'
	case 0x200B <= c && c <= 0x200F, 0x202A <= c && c <= 0x202E, 0x2060 <= c && c <= 0x2069, c == 0xFEFF, c == 0xAD:
		return -1
	}
	if i := slices.Index(confusable, c); i >= 0 {
		return rune(resembled[i])
	}
	return c
}

// Letters of Cyrillic, Greek, Armenian and Latin beyond ASCII, with what they
// resemble: those with which words of a command line can be imitated.
var (
	confusable = []rune("аеорсухіјѕԁԛԝһѵгтмнкпьпɡɩıοαρνυκιτηωσѡցոսհօᴏᴄᴠᴡᴢ‐‑‒–—−․")
	resembled  = "aeopcyxijsdqwhvrtmhknbngiioapvukitnwowgnuhoocvwz------."
)
