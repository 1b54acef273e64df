package redact

import (
	"bytes"
	"math/bits"
)

// Bounds of dumps.
const (
	mostDigits = 64   // of a group
	mostGap    = 4    // between groups; what stands further away is no byte
	mostIndent = 16   // before the first group
	mostLine   = 1024 // of a line
	fromOffset = 4    // is how long an offset before a line is at least
)

// phases of a line
const (
	beginning = iota // nothing of it was seen
	indented         // blanks were
	digits           // within a group
	between          // behind one
	beside           // behind the bytes: where they are shown as characters, mostly
	passed           // it is no line of a dump
)

// A dump follows lines of bytes in hexadecimal digits, as xxd, hexdump and od write them:
// groups of two digits or more, behind an offset or not, with characters beside them or
// not. A value goes on over the end of a line, whatever stands between its bytes.
//
// What a line means can't be told from it alone. So it is read in each of the ways that
// there are, the lanes: its first group is an offset or bytes, and the bytes of a group
// are in order or, as machines have numbers, the last one first.
type dump struct {
	bytes *automaton // of values as they are
	lanes [4]lane

	phase  int
	group  []byte // the digits of it
	at     int64  // of the group
	line   int64  // where the line begins
	gap    int    // how many separators came since the last group
	blanks int    // how many blanks came last; -1 behind a backslash
	first  bool   // no group was complete yet
	indent bool
	colon  bool // a colon ended the offset: two blanks end the bytes
	cut    bool // the last byte was a carriage return
	tail   int64
	active bool // a lane may have gone by something
}

// A lane is one way to read lines.
type lane struct {
	offset, swapped bool

	state  int32
	places []int64 // where the last bytes stand that it went by, a ring
	count  int64
	got    int  // bytes of this line
	hide   bool // the characters beside them
}

func (d *dump) init(a *automaton) {
	d.bytes, d.first = a, true
	for i := range d.lanes {
		d.lanes[i].offset, d.lanes[i].swapped = i&1 != 0, i&2 != 0
	}
}

// take goes by bytes, of which the first is at offset at.
func (d *dump) take(s *Stream, b []byte, at int64) {
	for i := 0; i < len(b); i++ {
		if d.phase == passed || d.phase == beginning && !d.cut && other(b[i:]) {
			n := bytes.IndexByte(b[i:], '\n')
			if d.active {
				d.pass()
			}
			if n < 0 {
				d.phase = passed
				return
			}
			if i += n; d.phase == beginning {
				d.line = at + int64(i) + 1
				continue
			}
		}
		d.step(s, b[i], at+int64(i))
	}
}

// other reports whether a line that begins with b is none of a dump, by its first two
// characters behind blanks: that is quick, and true of almost all lines.
func other(b []byte) bool {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	switch {
	case i == len(b):
		return false
	case !isDigit(b[i]):
		return b[i] != '\\' && b[i] != '\r'
	case i+1 == len(b):
		return false
	}
	c := b[i+1]
	return c > ' ' && !isDigit(c) && !separates(c) && c|0x20 != 'x'
}

// separates are the characters between groups; between blanks, they are less.
func separates(c byte) bool {
	return c == ' ' || c == '\t' || c == ':' || c == '-' || c == ',' || c == '\\'
}

// isDigit are the hexadecimal digits.
func isDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func (d *dump) step(s *Stream, c byte, at int64) {
	if c == '\n' || c == '\r' {
		if c == '\r' || !d.cut {
			d.ended(s, at)
		}
		d.line, d.cut = at+1, c == '\r'
		return
	}
	d.cut = false
	switch {
	case at-d.line >= mostLine:
		d.pass()
	case d.phase == beside:
		d.column(s, c, at)
	case isDigit(c):
		if d.phase != digits {
			d.phase, d.group, d.at = digits, d.group[:0], at
		}
		if d.group = append(d.group, c); len(d.group) > mostDigits {
			d.pass()
		}
	case d.phase == digits && c|0x20 == 'x' && len(d.group) == 1 && d.group[0] == '0':
		d.phase, d.gap = between, d.gap+1 // 0x
	case (d.phase == beginning || d.phase == indented) && c != ' ' && c != '\t' && c != '\\':
		d.pass()
	case separates(c) || c == 'x' && d.phase == between && d.blanks < 0:
		d.separator(s, c, at)
	case d.phase == digits && c == Mask:
		d.pass() // who knows how long the group was, before that was hidden
	default:
		d.complete(s, c, at)
		d.aside(at)
		d.column(s, c, at)
	}
}

// aside says that from an offset on no bytes are in the line.
func (d *dump) aside(at int64) {
	d.phase, d.tail = passed, at
	for i := range d.lanes {
		if d.lanes[i].state != 0 || d.lanes[i].hide {
			d.phase = beside
		}
	}
}

// separator goes by what stands between groups.
func (d *dump) separator(s *Stream, c byte, at int64) {
	switch {
	case d.phase == digits:
		d.complete(s, c, at)
		d.phase, d.gap, d.blanks = between, 0, 0
	case d.phase == beginning && (c == ' ' || c == '\t'):
		d.phase, d.indent, d.gap = indented, true, 0
	case c == '\\':
		d.phase = between
	}
	d.gap++
	switch c {
	case '\\':
		d.blanks = -1
	case ' ':
		d.blanks = max(d.blanks, 0) + 1
	default:
		d.blanks = 0
	}
	switch {
	case d.phase == indented && d.gap > mostIndent:
		d.pass()
	case d.phase == between && (d.gap > mostGap || d.blanks > 2 || d.colon && d.blanks > 1):
		d.aside(at + 1)
	}
}

// pass gives a line up.
func (d *dump) pass() {
	d.phase, d.active = passed, false
	for i := range d.lanes {
		d.lanes[i].state = 0
	}
}

// ended ends a line at the offset at.
func (d *dump) ended(s *Stream, at int64) {
	if d.phase == digits {
		d.complete(s, '\n', at)
	}
	for i := range d.lanes {
		l := &d.lanes[i]
		// What stands beside bytes are as many characters, in a frame or not; where there is
		// more, it is something else, and the value doesn't go on behind it.
		if l.got == 0 || d.phase == passed || d.phase == beside && at-d.tail > int64(l.got)+2 {
			l.state = 0
		}
		l.got, l.hide = 0, false
	}
	d.phase, d.first, d.indent, d.colon, d.gap, d.blanks = beginning, true, false, false, 0, 0
}

// complete takes a group, which ends at the offset at, before c.
func (d *dump) complete(s *Stream, c byte, at int64) {
	if d.phase != digits {
		return
	}
	offset := d.first && !d.indent && len(d.group) >= fromOffset
	d.colon = d.colon || offset && c == ':'
	d.first = false
	for i := range d.lanes {
		l := &d.lanes[i]
		switch {
		case offset && l.offset:
		case len(d.group)%2 != 0:
			l.state = 0
		default:
			for k := 0; k < len(d.group); k += 2 {
				j, from, to := k, d.at+int64(k), d.at+int64(k)+2
				if l.swapped {
					j, from, to = len(d.group)-2-k, d.at, at
				}
				d.byte(s, l, nibble(d.group[j])<<4|nibble(d.group[j+1]), from, to)
			}
		}
	}
}

func nibble(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// byte takes a byte, which is said from one offset to another.
func (d *dump) byte(s *Stream, l *lane, c byte, from, to int64) {
	l.got++
	d.active = true
	if l.state = d.bytes.step(l.state, c); l.state == 0 {
		return
	}
	if l.places == nil {
		l.places = make([]int64, 1<<bits.Len(uint(d.bytes.most)))
	}
	ring := int64(len(l.places) - 1)
	l.places[l.count&ring] = from
	l.count++
	if n := d.bytes.nodes[l.state].word; n > 0 {
		s.found(l.places[(l.count-int64(n))&ring], to)
		l.hide = true
	}
}

// column goes by a character beside the bytes. Where a value ends in the line, as many
// are hidden as there are bytes.
func (d *dump) column(s *Stream, c byte, at int64) {
	if c == ' ' && at == d.tail {
		d.tail++ // the last line is shorter, and its characters stand below those of others
		return
	}
	for i := range d.lanes {
		if l := &d.lanes[i]; l.hide && at-d.tail < int64(l.got)+2 {
			s.found(at, at+1)
		}
	}
}

// keep is from where on bytes can't be given out, before the offset at.
func (d *dump) keep(at int64) int64 {
	from := at
	if d.phase == digits {
		from = d.at
	}
	most := int64(24*d.bytes.most + mostLine)
	for i := range d.lanes {
		l := &d.lanes[i]
		more := int64(d.bytes.nodes[l.state].more)
		if more == 0 {
			continue
		}
		if place := l.places[(l.count-more)&int64(len(l.places)-1)]; at-place > most {
			l.state = 0 // there is too much between its bytes
		} else {
			from = min(from, place)
		}
	}
	return from
}
