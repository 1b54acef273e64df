// Package drawn passes on what a program draws on a terminal of its own to the terminal of a
// person who sits there, and nothing that makes that answer or act beyond its screen.
//
// What passes is text, moving about, erasing, colours, scrolling, the other screen, and
// which keys and movements of the mouse are told. What is left out are questions (what the
// terminal is, where its cursor is, what its title or its colours are), which it would answer
// as if the person typed the answer; everything that reaches beyond the screen: titles,
// links, clipboard, notifications, palettes, pictures, printing, the window; and what is in
// no list here. An unknown sequence is no sequence that passes.
//
// # Limits
//
// What is drawn can say anything: a program can paint the prompt of a shell. What is left out
// is in the output that is kept. Bytes that aren't UTF-8 become U+FFFD.
package drawn

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Writer passes on what is written to it. Make one with New.
type Writer struct {
	w       io.Writer
	out     []byte
	partial []byte // the beginning of a character
	state   state
	held    []byte // of a sequence, from its ESC on; at most mostHeld
}

type state int

const (
	ground  state = iota
	escape        // after ESC
	control       // after ESC [
	charset       // after ESC and an intermediate
	apart         // in a string: of an operating system command and the like
	ending        // in a string, after ESC
)

// mostHeld is how long a control sequence may be that passes.
const mostHeld = 64

// New returns a Writer to w.
func New(w io.Writer) *Writer { return &Writer{w: w} }

// Reset is what puts a terminal right on which something was drawn: the first screen, a
// cursor that shows, plain text, all lines that scroll (not every terminal knows how to be
// reset, so that is said, too), no reports of the mouse, of focus and of pastes.
const Reset = "\x1b[!p\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[?1000;1002;1003;1004;1005;1006;1015;2004;2026l\x1b[?1;5l\x1b[?7;25h\x1b[4l\x1b>\x1b(B\x0f\x1b[m\r"

// Write passes on what of p may, except for a sequence or a character that it leaves
// incomplete.
func (d *Writer) Write(p []byte) (int, error) {
	n := len(p)
	if len(d.partial) > 0 {
		p = append(d.partial, p...)
	}
	for len(p) > 0 {
		if !utf8.FullRune(p) {
			break
		}
		r, size := utf8.DecodeRune(p)
		d.take(r)
		p = p[size:]
	}
	d.partial = append([]byte(nil), p...)
	if len(d.out) == 0 {
		return n, nil
	}
	_, err := d.w.Write(d.out)
	d.out = d.out[:0]
	return n, err
}

// take takes one character.
func (d *Writer) take(r rune) {
	switch r {
	case 0x18, 0x1a: // they end a sequence, whatever it was
		d.state = ground
		return
	case 0x1b:
		if d.state == apart {
			d.state = ending
		} else {
			d.state, d.held = escape, append(d.held[:0], 0x1b)
		}
		return
	}
	switch d.state {
	case ground:
		d.plain(r)
	case escape:
		d.escaped(r)
	case control:
		d.controlled(r)
	case charset:
		d.chosen(r)
	case apart:
		if r == '\a' || r == 0x9c {
			d.state = ground
		}
	case ending: // ESC \ ends the string; ESC and anything else ends it, too, and begins another
		d.state = ground
		if r != '\\' {
			d.held = append(d.held[:0], 0x1b)
			d.escaped(r)
		}
	}
}

// plain passes on text, and what moves the cursor or chooses among two sets of characters.
func (d *Writer) plain(r rune) {
	switch {
	case r >= 0x80 && r < 0xa0: // as much as ESC and a letter
		if r == 0x90 || r == 0x98 || r >= 0x9d && r != 0x9c {
			d.state = apart
		} else if r == 0x9b { // its end is looked for, but it doesn't pass
			d.state, d.held = control, append(d.held[:0], make([]byte, mostHeld+1)...)
		}
	case r >= ' ' && r != 0x7f, r >= '\a' && r <= 0x0f:
		d.out = utf8.AppendRune(d.out, r)
	}
}

// escaped takes what comes after ESC.
func (d *Writer) escaped(r rune) {
	switch {
	case r == '[':
		d.state, d.held = control, append(d.held, '[')
	case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
		d.state = apart
	case r >= ' ' && r <= '/':
		d.state, d.held = charset, append(d.held, byte(r))
	default:
		d.state = ground
		if r < 0x80 && strings.ContainsRune("78=>DEHMc", r) {
			d.out = append(append(d.out, d.held...), byte(r))
		}
	}
}

// chosen takes what comes after ESC and an intermediate: a set of characters passes, but
// none that ends UTF-8, and the terminal's test pattern.
func (d *Writer) chosen(r rune) {
	switch {
	case r >= ' ' && r <= '/': // a second one; nothing that we know
		d.held = append(d.held[:0], 0x1b, '!')
		return
	case len(d.held) == 2 && (strings.ContainsRune("()*+", rune(d.held[1])) && strings.ContainsRune("0AB", r) || d.held[1] == '#' && r == '8'):
		d.out = append(append(d.out, d.held...), byte(r))
	}
	d.state = ground
}

// controlled takes a character of a control sequence.
func (d *Writer) controlled(r rune) {
	switch {
	case r < ' ': // terminals carry these out at once
		d.plain(r)
	case r > '~':
		d.state = ground
		if r >= 0x80 { // broken off
			d.plain(r)
		}
	case r >= '@':
		d.state = ground
		if len(d.held) <= mostHeld && allowed(d.held[2:], byte(r)) {
			d.out = append(append(d.out, d.held...), byte(r))
		}
	case len(d.held) <= mostHeld:
		d.held = append(d.held, byte(r))
	}
}

// modes are the private modes that may be set: of the cursor, the screen, the mouse and of
// pastes.
func modes() []int {
	return []int{1, 3, 5, 6, 7, 12, 25, 47, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1047, 1048, 1049, 2004, 2026}
}

// allowed reports whether a control sequence passes, by what is between its ESC [ and its
// last character.
func allowed(inner []byte, last byte) bool {
	i := bytes.IndexFunc(inner, func(r rune) bool { return r < '0' })
	intermediates := ""
	if i >= 0 {
		inner, intermediates = inner[:i], string(inner[i:])
	}
	prefix := len(inner) > 0 && inner[0] >= '<'
	switch {
	case bytes.ContainsAny(inner[min(1, len(inner)):], "<=>?"): // some take it for a prefix there, too
		return false
	case intermediates != "":
		return !prefix && (intermediates == " " && last == 'q' || intermediates == "!" && last == 'p' && len(inner) == 0)
	case prefix && inner[0] == '?' && (last == 'h' || last == 'l'):
		return each(string(inner[1:]), modes())
	case prefix && inner[0] == '?':
		return last == 'J' || last == 'K'
	case prefix:
		return false
	case last == 'h' || last == 'l':
		return each(string(inner), []int{4})
	case last == 'b': // repeats a character, in some terminals as often as it says
		return len(inner) <= 4
	case last == 'T':
		return !bytes.ContainsAny(inner, ";:")
	}
	return strings.IndexByte("@ABCDEFGHIJKLMPSXZ`adefgmrsu", last) >= 0
}

// each reports whether all numbers of a list are among these.
func each(list string, these []int) bool {
	for word := range strings.SplitSeq(list, ";") {
		n, err := strconv.Atoi(word)
		if err != nil || !slices.Contains(these, n) {
			return false
		}
	}
	return true
}
