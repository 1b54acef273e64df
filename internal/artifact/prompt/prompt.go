// Package prompt tells whether the last thing that a program printed looks like
// a question. Nobody answers a run: it gets its input at the start, or none. So
// one that asks hangs, and looks just like one that works.
//
// # Limits
//
// It guesses from the words on the screen, in English and from the marks that
// most prompts have. It says only that there seems to be a question, never what
// it was: what is printed belongs into the output alone.
package prompt

import (
	"bytes"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/artifact"
)

// window is how much of the end of the output is looked at.
const window = 512

// Asked reports whether the output that r reads ends with a question. Output
// that can't be read asks nothing.
func Asked(r *artifact.Reader) bool {
	size, err := r.Size(paddock.Combined)
	if err != nil || size == 0 {
		return false
	}
	var tail bytes.Buffer
	if _, err := r.Copy(&tail, paddock.Combined, max(0, size-window)); err != nil {
		return false
	}
	return Question(tail.Bytes())
}

// Question reports whether tail, the end of some output, looks like one. There are no
// expressions here: they would be the only ones of a supervisor, which would make tables
// of all characters' kinds whenever it starts.
func Question(tail []byte) bool {
	tail = uncoloured(tail)
	open := len(tail) > 0 && tail[len(tail)-1] != '\n'
	tail = bytes.TrimRight(tail, "\r\n")
	if i := bytes.LastIndexAny(tail, "\r\n"); i >= 0 {
		tail = tail[i+1:]
	}
	if len(bytes.TrimSpace(tail)) == 0 {
		return false
	}
	return choice(tail) || open && marked(tail)
}

// uncoloured is b without what colours a prompt.
func uncoloured(b []byte) []byte {
	plain := make([]byte, 0, len(b))
	for len(b) > 0 {
		n := escape(b)
		if n == 0 {
			plain, n = append(plain, b[0]), 1
		}
		b = b[n:]
	}
	return plain
}

// escape is how long the sequence is that b begins with; 0 for none.
func escape(b []byte) int {
	if !bytes.HasPrefix(b, []byte("\x1b[")) {
		return 0
	}
	n := 2
	n += run(b[n:], func(c byte) bool { return '0' <= c && c <= '?' })
	n += run(b[n:], func(c byte) bool { return ' ' <= c && c <= '/' })
	if n == len(b) || b[n] < '@' || b[n] > '~' {
		return 0
	}
	return n + 1
}

// run is how many bytes at the beginning of b are of a kind.
func run(b []byte, of func(byte) bool) (n int) {
	for n < len(b) && of(b[n]) {
		n++
	}
	return n
}

var (
	// keys are what one is asked to press.
	keys = []string{"press any key", "press enter", "press return", "hit enter", "hit return"}
	// marks are how a line ends that waits for its other half.
	marks = []string{"?", ":", ">", "❯", "»", "]", ")"}
)

// choice reports whether line has what is unmistakable, also where it was ended.
func choice(line []byte) bool {
	lower := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, string(line))
	if slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(lower, k) }) {
		return true
	}
	for i := range len(lower) {
		if (lower[i] == '[' || lower[i] == '(') && choices(lower[i+1:]) {
			return true
		}
	}
	return false
}

// choices reports whether s goes on as behind the bracket of [y/n], (yes/no), [y/n/a] or
// (yes/no/[fingerprint]).
func choices(s string) bool {
	closes := func(s string) bool { return s != "" && (s[0] == ']' || s[0] == ')') }
	letter := func(c byte) bool { return 'a' <= c && c <= 'z' }
	if rest, is := strings.CutPrefix(s, "y/n"); is {
		return closes(rest) || len(rest) > 2 && rest[0] == '/' && letter(rest[1]) && closes(rest[2:])
	}
	rest, is := strings.CutPrefix(s, "yes/no")
	if !is || closes(rest) {
		return is
	}
	if rest, is = strings.CutPrefix(rest, "/"); !is {
		return false
	}
	more := run([]byte(rest), func(c byte) bool { return letter(c) || c == '[' || c == ']' })
	return more > 0 && (strings.Contains(rest[1:more], "]") || closes(rest[more:]))
}

// marked reports whether line ends as one that waits.
func marked(line []byte) bool {
	line = bytes.TrimRight(line, "\t\n\f\r ")
	return slices.ContainsFunc(marks, func(m string) bool { return bytes.HasSuffix(line, []byte(m)) })
}
