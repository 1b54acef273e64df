// Package lookalike finds words that only look like others: with letters of
// another script, or with characters that aren't seen.
//
// # Limits
//
// Its table holds what words of a command line can be imitated with and is not
// complete. It is for hints: words are always compared exactly.
package lookalike

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Of returns the one of words that s only looks like, or "".
func Of(s string, words []string) string {
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
	confusable = []rune("аеорсухіјѕԁԛԝһѵгтмнкпьɡɩıοαρνυκιτηωσѡցոսհօᴏᴄᴠᴡᴢ‐‑‒–—−․")
	resembled  = "aeopcyxijsdqwhvrtmhknbgiioapvukitnwowgnuhoocvwz------."
)
