package redact

import "math/bits"

// mostBreak is how many line ends in a row may break a form.
const mostBreak = 2

// A Stream finds patterns in bytes that arrive in pieces. It is for one goroutine.
// The zero Stream finds nothing and keeps nothing back.
//
// A form that is broken into lines is followed over the break when more than two
// of its characters stand before it: if one were enough, the end of a quarter of
// all lines would be kept back. With fewer before it, what is behind the break is
// a form itself.
type Stream struct {
	p    *Patterns
	at   int64  // of the next byte to arrive
	held []byte // the bytes before it that weren't given out
	open []Span // what was found in them, in any order

	exact, loose int32
	places       []int64 // where the last characters stand that loose went by, a ring
	ring         int64   // what of a count is the place in it
	count        int64   // of those characters
	broken       int     // line ends since the last of them

	dump dump
}

// Stream returns a Stream that stands at its beginning.
func (p *Patterns) Stream() *Stream {
	s := &Stream{p: p}
	if p != nil {
		size := 1 << bits.Len(uint(p.loose.most)) // a power of two
		s.places, s.ring = make([]int64, size), int64(size-1)
		s.dump.init(p.bytes)
	}
	return s
}

// Next takes the next bytes. It returns those that can be given out now, and the
// spans in them, in order and apart, that hold a secret. Both are the caller's
// until the next call.
func (s *Stream) Next(b []byte) (ready []byte, spans []Span) {
	if s.p == nil {
		return b, nil
	}
	from := s.at - int64(len(s.held))
	for i, c := range b {
		if s.exact|s.loose == 0 && i+1 < len(b) {
			if pair := int(c)<<8 | int(b[i+1]); s.p.begins[pair>>6]&(1<<(pair&63)) == 0 {
				continue
			}
		}
		s.step(c, s.at+int64(i)+1)
	}
	s.dump.take(s, b, s.at)
	s.at += int64(len(b))
	if len(s.held) > 0 {
		b = append(s.held, b...)
	}
	keep := min(int64(s.p.exact.nodes[s.exact].more), s.at-from)
	if more := int64(s.p.loose.nodes[s.loose].more); more > 0 {
		keep = max(keep, s.at-s.places[(s.count-more)&s.ring])
	}
	keep = max(keep, min(s.at-s.dump.keep(s.at), s.at-from))
	n := int64(len(b)) - keep
	s.held = append([]byte(nil), b[n:]...)
	return b[:n], s.until(from + n)
}

// End returns what was kept back. Nothing may come after it.
func (s *Stream) End() (ready []byte, spans []Span) {
	ready, s.held = s.held, nil
	return ready, s.until(s.at)
}

// until returns what was found before an offset, and keeps what reaches beyond.
func (s *Stream) until(offset int64) (spans []Span) {
	var rest []Span
	for _, f := range merged(s.open) {
		if f.Offset < offset {
			spans = append(spans, Span{f.Offset, min(f.End(), offset) - f.Offset})
		}
		if f.End() > offset {
			begin := max(f.Offset, offset)
			rest = append(rest, Span{begin, f.End() - begin})
		}
	}
	s.open = rest
	return spans
}

// step goes by the next byte, which ends at offset end.
func (s *Stream) step(c byte, end int64) {
	if s.exact = s.p.exact.step(s.exact, c); s.exact != 0 {
		if n := s.p.exact.nodes[s.exact].word; n > 0 {
			s.found(end-int64(n), end)
		}
	}
	if c == '\n' || c == '\r' {
		if s.broken++; s.broken > mostBreak || s.p.loose.nodes[s.loose].more <= headless {
			s.loose = 0
		}
		return
	}
	s.broken = 0
	if s.loose = s.p.loose.step(s.loose, c); s.loose == 0 {
		return // no word has this character here, so nobody asks where it stands
	}
	s.places[s.count&s.ring] = end - 1
	s.count++
	if n := s.p.loose.nodes[s.loose].word; n > 0 {
		s.found(s.places[(s.count-int64(n))&s.ring], end)
	}
}

// found notes a span. Those that touch the one before are joined at once: a
// stream of nothing but secrets takes no more memory than any other.
func (s *Stream) found(from, to int64) {
	if n := len(s.open) - 1; n >= 0 && from <= s.open[n].End() && from >= s.open[n].Offset {
		s.open[n].Length = max(to, s.open[n].End()) - s.open[n].Offset
		return
	}
	s.open = append(s.open, Span{from, to - from})
}
