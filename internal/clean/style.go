package clean

import (
	"strconv"
	"strings"
)

// A style is how characters look: what of it a reader can't be harmed by.
// Blinking and invisible text are not.
type style struct {
	attrs  uint16 // bit n is SGR n: bold, faint, italic, underlined, reversed, struck
	fg, bg color
}

// A color is none, one of 256, or red, green and blue.
type color uint32

const (
	indexed color = 1 << 24
	direct  color = 2 << 24
)

const known = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<7 | 1<<9

// set changes s as a sequence with these parameters says.
func (s *style) set(params string) {
	if params == "" {
		params = "0"
	}
	if strings.Trim(params, "0123456789;:") != "" {
		return // private, and about something else
	}
	list := strings.Split(params, ";")
	for i := 0; i < len(list); i++ {
		head, sub, nested := strings.Cut(list[i], ":")
		n := number(head)
		switch {
		case (n == 38 || n == 48) && nested:
			parts := strings.Split(sub, ":")
			if len(parts) == 5 && parts[0] == "2" {
				parts = append(parts[:1], parts[2:]...) // the color space
			}
			c, _ := parseColor(parts)
			s.paint(n, c)
		case n == 38 || n == 48:
			c, used := parseColor(list[i+1:])
			s.paint(n, c)
			i += used
		case n == 4 && nested && number(sub) == 0:
			s.attrs &^= 1 << 4
		default:
			s.one(n)
		}
	}
}

// one changes s as one parameter says.
func (s *style) one(n int) {
	switch {
	case n == 0:
		*s = style{}
	case n < 10:
		s.attrs |= 1 << n & known
	case n == 21:
		s.attrs |= 1 << 4 // underlined twice
	case n == 22:
		s.attrs &^= 1<<1 | 1<<2
	case n > 22 && n < 30:
		s.attrs &^= 1 << (n - 20)
	case n >= 30 && n < 38:
		s.fg = indexed | color(n-30)
	case n == 39:
		s.fg = 0
	case n >= 40 && n < 48:
		s.bg = indexed | color(n-40)
	case n == 49:
		s.bg = 0
	case n >= 90 && n < 98:
		s.fg = indexed | color(n-90+8)
	case n >= 100 && n < 108:
		s.bg = indexed | color(n-100+8)
	}
}

func (s *style) paint(n int, c color) {
	switch {
	case c == 0: // one that isn't understood
	case n == 38:
		s.fg = c
	default:
		s.bg = c
	}
}

// parseColor reads what follows 38 or 48, and returns how much that was.
func parseColor(list []string) (c color, used int) {
	if len(list) >= 2 && list[0] == "5" {
		if n := number(list[1]); n < 256 {
			return indexed | color(n), 2
		}
		return 0, 2
	}
	if len(list) >= 4 && list[0] == "2" {
		c = direct
		for i, part := range list[1:4] {
			n := number(part)
			if n > 255 {
				return 0, 4
			}
			c |= color(n) << (16 - 8*i)
		}
		return c, 4
	}
	return 0, len(list)
}

// number reads a parameter; none is zero, and a large one means nothing.
func number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 1 << 20
	}
	return n
}

// append writes the sequence after which text looks like s, whatever it was.
func (s style) append(b []byte) []byte {
	b = append(b, "\x1b[0"...)
	for n := range 10 {
		if s.attrs&(1<<n) != 0 {
			b = append(b, ';', byte('0'+n))
		}
	}
	if s.fg != s.bg || s.fg == 0 { // the same twice would hide the text
		b = s.fg.append(b, 30)
		b = s.bg.append(b, 40)
	}
	return append(b, 'm')
}

func (c color) append(b []byte, base int) []byte {
	n := int(c & 0xffffff)
	var list []int
	switch {
	case c&direct != 0:
		list = []int{base + 8, 2, n >> 16, n >> 8 & 255, n & 255}
	case c&indexed == 0:
	case n < 8:
		list = []int{base + n}
	case n < 16:
		list = []int{base + 60 + n - 8}
	default:
		list = []int{base + 8, 5, n}
	}
	for _, v := range list {
		b = strconv.AppendInt(append(b, ';'), int64(v), 10)
	}
	return b
}
