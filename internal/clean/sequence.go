package clean

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A state is where in a sequence the Writer is.
type state int

const (
	ground  state = iota
	escape        // behind ESC
	between       // behind ESC and what a final character follows
	control       // in a control sequence: ESC [
	payload       // in a string for the terminal: ESC ] and others
)

const (
	esc       = '\x1b'
	maxParams = 64 // of a control sequence; a longer one means nothing
)

// take goes on by one character, which was so many bytes.
func (w *Writer) take(r rune, size int) {
	if w.state == ground {
		if r == esc {
			w.state, w.held = escape, size
			return
		}
		w.ground(r, size)
		return
	}
	w.held += size
	switch {
	case r == esc:
		w.state, w.held = escape, size
	case r == '\x18' || r == '\x1a': // these give a sequence up
		w.state = ground
	case r == '\n' || r < ' ' && w.state != payload:
		// No sequence goes on over a line's end, lest one that is never ended
		// swallows everything; nor over another control character.
		w.state = ground
		w.ground(r, size)
	case w.state == payload:
		if r == '\a' || r == '\u009c' {
			w.state = ground
		}
	case r >= utf8.RuneSelf || r == '\x7f':
		w.state = ground
		w.ground(r, size)
	default:
		w.sequence(byte(r))
	}
}

// sequence goes on by one printable character inside a sequence.
func (w *Writer) sequence(c byte) {
	switch w.state {
	case escape:
		switch {
		case c == '[':
			w.state, w.params = control, w.params[:0]
		case strings.IndexByte("]PX^_", c) >= 0:
			w.state = payload
		case c < '0':
			w.state = between
		default:
			w.state = ground
		}
	case between:
		if c >= '0' {
			w.state = ground
		}
	case control:
		switch {
		case c >= '@':
			w.state = ground
			if len(w.params) < maxParams {
				w.command(c, string(w.params))
			}
		case len(w.params) < maxParams:
			w.params = append(w.params, c)
		}
	}
}

// command does what a control sequence says, if it is about the line or colours.
func (w *Writer) command(final byte, params string) {
	if final == 'm' {
		if w.mode != Text {
			w.style.set(params)
		}
		return
	}
	n, err := strconv.Atoi(params)
	if params == "" {
		n, err = 0, nil
	}
	if err != nil {
		return // of more than one number, or not of a number at all
	}
	switch {
	case w.mode == Live && final == 'K' && n <= 2 && n >= 0:
		w.out = append(w.out, "\x1b["+[]string{"", "1", "2"}[n]+"K"...)
	case w.mode == Live && final == 'G' && n <= 1:
		w.out = append(w.out, '\r')
	case w.mode == Live:
	case final == 'K' && n == 0, final == 'J' && n == 0:
		w.line = w.line[:min(w.col, len(w.line))]
	case final == 'K' && n == 1:
		for i := range min(w.col+1, len(w.line)) {
			w.line[i] = cell{r: ' '}
		}
	case final == 'K' && n == 2:
		w.line = w.line[:0]
	case final == 'G':
		w.move(n - 1)
	case final == 'C':
		w.move(w.col + max(1, n))
	case final == 'D':
		w.move(w.col - max(1, n))
	}
}
