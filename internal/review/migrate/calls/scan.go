package calls

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Kinds of tokens.
const (
	sign   = iota // a character that means something
	ident         // a name or a number
	quoted        // a text that can be told
	odd           // a text that can't: with escapes that aren't known, of bytes, or with parts to fill in
)

type token struct {
	kind int
	text string
	line int
	mate int // of an opening bracket, how many tokens further its closing one is
}

func (t token) is(s string) bool { return t.kind == sign && t.text == s }

// A scanner takes text apart.
type scanner struct {
	text   string
	line   int
	tokens []token
	open   []int // the brackets that are open, by where they are among the tokens
}

// scan takes text apart into tokens. Brackets are in pairs, and there are no line ends
// within them.
func scan(text string) ([]token, error) {
	s := &scanner{text: text, line: 1}
	for s.text != "" {
		switch c := s.text[0]; {
		case c == '\n':
			if len(s.open) == 0 {
				s.add(sign, 1)
			} else {
				s.text = s.text[1:]
			}
			s.line++
		case c == ' ' || c == '\t' || c == '\r':
			s.text = s.text[1:]
		case strings.HasPrefix(s.text, "\\\n"):
			s.text = s.text[2:]
			s.line++
		case c == '#':
			end := strings.IndexByte(s.text+"\n", '\n')
			s.text = s.text[end:]
		case c == '"' || c == '\'':
			if err := s.quote(""); err != nil {
				return nil, err
			}
		case named(c):
			if err := s.name(); err != nil {
				return nil, err
			}
		default:
			_, n := utf8.DecodeRuneInString(s.text)
			s.add(sign, n)
			if err := s.bracket(c); err != nil {
				return nil, err
			}
		}
	}
	if n := len(s.open); n > 0 {
		at := s.tokens[s.open[n-1]]
		return nil, fmt.Errorf("line %d: %s is never closed", at.line, at.text)
	}
	return s.tokens, nil
}

func named(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// add takes n bytes for a token.
func (s *scanner) add(kind, n int) {
	s.tokens = append(s.tokens, token{kind: kind, text: s.text[:n], line: s.line})
	s.text = s.text[n:]
}

// bracket pairs brackets, of which c may be one that was just added.
func (s *scanner) bracket(c byte) error {
	here := len(s.tokens) - 1
	if strings.IndexByte("([{", c) >= 0 {
		s.open = append(s.open, here)
	}
	at := strings.IndexByte(")]}", c)
	if at < 0 {
		return nil
	}
	n := len(s.open) - 1
	if n < 0 || s.tokens[s.open[n]].text[0] != "([{"[at] {
		return fmt.Errorf("line %d: there is a %c too many", s.line, c)
	}
	s.tokens[s.open[n]].mate = here - s.open[n]
	s.open = s.open[:n]
	return nil
}

// name takes a name, a number, or a text with letters before its quotes.
func (s *scanner) name() error {
	n := 0
	for n < len(s.text) && named(s.text[n]) {
		n++
	}
	if word := s.text[:n]; n < len(s.text) && (s.text[n] == '"' || s.text[n] == '\'') {
		s.text = s.text[n:]
		return s.quote(strings.ToLower(word))
	}
	s.add(ident, n)
	return nil
}

// quote takes a text in quotes, of which letters say how it is to be read.
func (s *scanner) quote(letters string) error {
	from, mark := s.line, s.text[:1]
	if three := strings.Repeat(mark, 3); strings.HasPrefix(s.text, three) {
		mark = three
	}
	rest := s.text[len(mark):]
	var inner string
	for i := 0; ; i++ {
		if i >= len(rest) || rest[i] == '\n' && len(mark) == 1 {
			return fmt.Errorf("line %d: a text in quotes has no end", from)
		}
		if rest[i] == '\\' {
			if i++; i == len(rest) {
				continue
			}
		} else if strings.HasPrefix(rest[i:], mark) {
			inner, s.text = rest[:i], rest[i+len(mark):]
			break
		}
		if rest[i] == '\n' {
			s.line++
		}
	}
	t := token{kind: odd, text: inner, line: from}
	switch text, ok := unescaped(inner); {
	case letters == "r":
		t.kind = quoted
	case letters == "" && ok:
		t.kind, t.text = quoted, text
	}
	s.tokens = append(s.tokens, t)
	return nil
}

// simple are the escapes of one character, and meant what they stand for, in their order.
const (
	simple = `abfnrtv\'"`
	meant  = "\a\b\f\n\r\t\v\\'\""
)

// digits is how many follow an escape that is given in numbers; 0 for others.
func digits(c byte) int {
	switch c {
	case 'x':
		return 2
	case 'u':
		return 4
	case 'U':
		return 8
	}
	return 0
}

// unescaped undoes escapes, and says whether all of them could be.
func unescaped(text string) (string, bool) {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			b.WriteString(text)
			return b.String(), at < 0
		}
		b.WriteString(text[:at])
		c := text[at+1]
		text = text[at+2:]
		if i := strings.IndexByte(simple, c); i >= 0 {
			b.WriteByte(meant[i])
			continue
		}
		if c == '\n' { // the line goes on
			continue
		}
		n := digits(c)
		if n == 0 || n > len(text) {
			return "", false
		}
		code, err := strconv.ParseUint(text[:n], 16, 32)
		if err != nil || c == 'x' && code >= utf8.RuneSelf || !utf8.ValidRune(rune(code)) {
			return "", false // of \x readers differ on whether it is a character or a byte
		}
		b.WriteRune(rune(code))
		text = text[n:]
	}
}
