// Package clean shows what a program printed without what a terminal would obey
// or a reader wouldn't see.
//
// A [Writer] takes bytes in pieces of any size and writes text: valid UTF-8 of
// printable characters, line ends and tabs, and in two of the three modes colours
// that it spells itself. Sequences for terminals are left out; other control
// characters, and characters that have no width or change the direction of
// writing, are spelled as an escape such as \x00 or \u202e; a byte that isn't
// UTF-8 becomes U+FFFD. How the bytes are cut into pieces makes no difference.
//
// # Limits
//
// What is left out here is still in the output that was kept; nothing is said
// about it in place. The package knows lines and no screen: what a program draws
// by moving up is shown one below the other. Each character counts for one
// column, also one that is wide or combines with another. A line of more than
// 16,384 characters is shown in parts, and going back ends at the part's start.
//
// Text can mislead without any of this: by colours that hardly differ, by
// letters that look alike, or simply by what it says.
package clean

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// A Mode says what is kept beside the text.
type Mode int

const (
	// Text keeps none. Of a line that was written over, its last state is shown.
	Text Mode = iota
	// Color is Text with colours and the like.
	Color
	// Live is for a terminal on which the program writes now: going back and
	// erasing in the line is left to the terminal, and colours are kept.
	Live
)

// A Writer cleans what is written to it. Make one with New.
type Writer struct {
	w    io.Writer
	mode Mode
	out  []byte

	partial []byte // the beginning of a character
	state   state
	params  []byte // of a control sequence; at most maxParams
	held    int    // bytes since the sequence began

	line  []cell // Text and Color: the line so far
	col   int    // where the next character goes
	style style  // as the program has it
	shown style  // as what was written has it
	last  rune   // the last printed
}

// New returns a Writer to w.
func New(w io.Writer, mode Mode) *Writer { return &Writer{w: w, mode: mode} }

// Bytes returns all of p as mode shows it.
func Bytes(p []byte, mode Mode) []byte {
	var b bytes.Buffer
	w := New(&b, mode)
	_, _ = w.Write(p) // a buffer takes everything
	_ = w.Flush()
	return b.Bytes()
}

// Write shows p, except for a line, a sequence or a character that it leaves
// incomplete.
func (w *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if w.plain(&p) {
			continue
		}
		if len(w.partial) > 0 || !utf8.FullRune(p) {
			w.partial = append(w.partial, p[0])
			p = p[1:]
			if utf8.FullRune(w.partial) {
				w.decode()
			}
			continue
		}
		r, size := utf8.DecodeRune(p)
		w.take(r, size)
		p = p[size:]
	}
	return n, w.pass()
}

// decode takes the characters that were put together.
func (w *Writer) decode() {
	for len(w.partial) > 0 && utf8.FullRune(w.partial) {
		r, size := utf8.DecodeRune(w.partial)
		w.partial = append(w.partial[:0], w.partial[size:]...)
		w.take(r, size)
	}
}

// plain passes on what there is nothing to clean in, as most is: a line, or in
// Live, where lines aren't held, any text.
func (w *Writer) plain(p *[]byte) bool {
	if w.state != ground || len(w.partial) > 0 || w.style != w.shown {
		return false
	}
	if w.mode != Live && (len(w.line) > 0 || w.col > 0) {
		return false
	}
	n := 0
	for i, c := range *p {
		if w.mode != Live && i >= maxLine || c != '\t' && c != '\n' && (c < ' ' || c > '~') {
			break
		}
		if w.mode == Live || c == '\n' {
			n = i + 1
		}
		if w.mode != Live && c == '\n' {
			break
		}
	}
	if n == 0 {
		return false
	}
	w.out = append(w.out, (*p)[:n]...)
	w.last = rune((*p)[n-1])
	*p = (*p)[n:]
	return true
}

// Flush shows what is incomplete, and ends colours. What is written after it
// begins at the start of a line.
func (w *Writer) Flush() error {
	for range w.partial {
		w.take(utf8.RuneError, 1)
	}
	w.partial, w.state, w.held = w.partial[:0], ground, 0
	w.spill()
	w.style = style{}
	w.restyle(w.style)
	return w.pass()
}

// Held returns how many of the bytes that were written last belong to a
// character or a sequence that isn't complete.
func (w *Writer) Held() int {
	if w.state == ground {
		return len(w.partial)
	}
	return w.held + len(w.partial)
}

// pass hands on what there is.
func (w *Writer) pass() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.w.Write(w.out)
	w.out = w.out[:0]
	return err
}
