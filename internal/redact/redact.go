// Package redact finds secrets in streams: their values, and the forms in which
// programs print values without meaning to change them.
//
// [Compile] makes [Patterns] of values. A [Stream] finds them in what arrives in
// pieces, however it is cut: it keeps back what may be the beginning of one, and
// gives out everything else at once. What it finds are spans, so that whoever
// hides them keeps every offset.
//
// A value is looked for as it is, in base64 and base32 (standard and for URLs, wherever
// in a longer text it stands, broken into lines or not), in hexadecimal digits, escaped
// for URLs, in HTML and in JSON strings; and its bytes in lists, and in dumps as xxd,
// hexdump and od write them in hexadecimal digits. There all is hidden from the first
// digit of the value to the last, with what stands between, and the characters beside its
// last line. Of a value of more than one line each line is looked for as well.
//
// # Limits
//
// What is changed in any other way isn't found: reversed, compressed, encrypted,
// split, in octal digits, escaped twice, or with something between its characters. A value of fewer than
// [MinValue] bytes isn't looked for, nor is a line of so few, nor one that frames
// a PEM block. Base64 of a value in a longer text leaves up to six bits of it at
// either end. Hiding doesn't hide how long a value is, nor where its lines end.
//
// The patterns take some 24 bytes of memory for each byte of each form. A stream
// keeps back at most three times the longest form, and of a dump 24 times the longest
// value and 1 KiB.
package redact

import (
	"cmp"
	"slices"
)

const (
	// MinValue is the least number of bytes of a value that is looked for. To hide
	// shorter ones would tear holes into text that has nothing to do with them.
	MinValue = 8
	// Mask is what stands in the place of each byte that is hidden.
	Mask = '*'
)

// A Span is a part of a stream.
type Span struct{ Offset, Length int64 }

// End is behind the last byte of the span.
func (s Span) End() int64 { return s.Offset + s.Length }

// Hide hides in b, which is at offset at of the stream, what lies in spans. Line
// ends stay, so that lines are those that they were.
func Hide(b []byte, at int64, spans []Span) {
	for _, s := range spans {
		from, to := max(s.Offset-at, 0), min(s.End()-at, int64(len(b)))
		for i := from; i < to; i++ {
			if b[i] != '\n' && b[i] != '\r' {
				b[i] = Mask
			}
		}
	}
}

// Patterns are the forms of some values. They don't change, and may be used
// concurrently. Nil finds nothing.
type Patterns struct {
	// exact finds forms as they are, loose those that may be broken into lines, and bytes
	// values in dumps.
	exact, loose, bytes *automaton
	// begins are the pairs of characters that a form begins with, a bit for each: almost
	// no text has one, so that almost none is looked at any closer.
	begins [1 << 16 / 64]uint64
}

// Compile returns what finds values; nil when none is long enough.
func Compile(values ...string) *Patterns {
	var exact, loose, plain []string
	for _, v := range values {
		for _, part := range parts(v) {
			exact = append(exact, asWritten(part)...)
			loose = append(loose, encoded(part)...)
			plain = append(plain, part)
		}
	}
	if len(exact) == 0 {
		return nil
	}
	p := &Patterns{exact: build(exact), loose: build(loose), bytes: build(plain)}
	for _, form := range slices.Concat(exact, loose) {
		pair := int(form[0])<<8 | int(form[1]) // a form is longer than that, see MinValue
		p.begins[pair>>6] |= 1 << (pair & 63)
	}
	return p
}

// Find returns the spans of text that hold values, in order and apart.
func (p *Patterns) Find(text []byte) []Span {
	s := p.Stream()
	_, first := s.Next(text)
	_, rest := s.End()
	return merged(append(first, rest...))
}

// Hidden returns text with everything hidden that is found in it.
func (p *Patterns) Hidden(text string) string {
	b := []byte(text)
	Hide(b, 0, p.Find(b))
	return string(b)
}

// merged puts spans in order and joins those that touch. It changes the list.
func merged(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Offset, b.Offset) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out) - 1; n >= 0 && s.Offset <= out[n].End() {
			out[n].Length = max(out[n].End(), s.End()) - out[n].Offset
			continue
		}
		out = append(out, s)
	}
	return out
}
