package clean

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

const (
	maxLine = 16 << 10 // characters
	maxGap  = 512      // columns that can be skipped
)

// A cell is one character of a line.
type cell struct {
	r     rune
	style style
}

// ground takes a character outside of sequences, which was so many bytes.
func (w *Writer) ground(r rune, size int) {
	switch {
	case r == '\n':
		w.spill()
		w.out = append(w.out, '\n')
		w.last = '\n'
	case r == '\r':
		if w.mode == Live {
			w.out = append(w.out, '\r')
		}
		w.col = 0
	case r == '\b':
		if w.mode == Live {
			w.out = append(w.out, '\b')
		}
		w.move(w.col - 1)
	case r == '\a': // a noise, and nothing to see
	case r == '\t':
		w.print(r)
	case r < ' ' || r == '\x7f':
		w.spell(fmt.Sprintf(`\x%02x`, r))
	case r == utf8.RuneError && size == 1:
		w.print(utf8.RuneError)
	case hidden(r) && !w.selects(r):
		if r > 0xffff {
			w.spell(fmt.Sprintf(`\U%08x`, r))
		} else {
			w.spell(fmt.Sprintf(`\u%04x`, r))
		}
	default:
		w.print(r)
	}
}

// hidden reports whether r can't be seen, or changes how others are seen.
func hidden(r rune) bool {
	if r < 0x7f {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // these are seen
}

// selects reports whether r says how the character before it is drawn, as text
// or as a picture. In a row, such characters can carry a message.
func (w *Writer) selects(r rune) bool {
	return (r == 0xfe0e || r == 0xfe0f) && w.last > ' ' && !unicode.Is(unicode.Variation_Selector, w.last)
}

func (w *Writer) spell(s string) {
	for _, r := range s {
		w.print(r)
	}
}

// print puts r where the program is in the line.
func (w *Writer) print(r rune) {
	w.last = r
	if w.mode == Live {
		w.show(cell{r, w.style})
		return
	}
	if w.col >= maxLine {
		w.spill()
	}
	for len(w.line) <= w.col {
		w.line = append(w.line, cell{r: ' '})
	}
	w.line[w.col] = cell{r, w.style}
	w.col++
}

// move goes to a column.
func (w *Writer) move(col int) {
	w.col = min(max(0, col), len(w.line)+maxGap, maxLine)
}

// spill shows the line so far, without an end.
func (w *Writer) spill() {
	for _, c := range w.line {
		w.show(c)
	}
	w.line, w.col = w.line[:0], 0
}

// show writes one character as it looks.
func (w *Writer) show(c cell) {
	w.restyle(c.style)
	w.out = utf8.AppendRune(w.out, c.r)
}

func (w *Writer) restyle(s style) {
	if s != w.shown {
		w.out = s.append(w.out)
		w.shown = s
	}
}
