// Package screen shows answers: to a person in few words, to a program as JSON.
//
// # Limits
//
// It asks for nothing and decides nothing. What programs print goes by it.
package screen

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"paddock"
)

// Span is a duration in as many digits as a person cares for.
func Span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return whole(d.Round(time.Second))
	case d < 48*time.Hour:
		return whole(d.Round(time.Minute))
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// whole leaves out the parts that are zero at the end.
func whole(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}

// Size is a number of bytes in as many digits as a person cares for.
func Size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n)/1024, 0
	for f >= 1023.95 && unit < len(units)-1 {
		f, unit = f/1024, unit+1
	}
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") + " " + units[unit:unit+1] + "iB"
}

// Plain makes text safe to show: what isn't printable is written as an escape.
func Plain(s string) string {
	clean := true
	for _, r := range s {
		if r == '\uFFFD' || !strconv.IsPrint(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if strconv.IsPrint(r) && (r != '\uFFFD' || n > 1) {
			b.WriteRune(r)
		} else {
			q := strconv.QuoteToASCII(s[:n])
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}

// Contained says in a few words what holds programs.
func Contained(c paddock.ContainAs) string {
	network := "no network"
	switch c.Network {
	case "host":
		network = "the machine's network"
	case "allowlist":
		network = "listed hosts only"
	}
	if c.Level == paddock.Off {
		return "uncontained, with your rights"
	}
	return "contained: " + string(c.Level) + ", " + network
}

// Quote writes a word so that a shell reads the same word again.
func Quote(word string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-"
	if word != "" && strings.Trim(word, safe) == "" {
		return word
	}
	if Plain(word) == word {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return "$'" + strings.ReplaceAll(Plain(strings.ReplaceAll(word, `\`, `\\`)), "'", `\'`) + "'"
}

func QuoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = Quote(word)
	}
	return strings.Join(words, " ")
}

// shorten cuts text to n characters, and shows that it did.
func shorten(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
