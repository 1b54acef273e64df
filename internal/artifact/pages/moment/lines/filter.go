package lines

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	maxPattern = 1000     // bytes of an expression
	maxProgram = 2000     // its steps, roughly
	maxScan    = 16 << 20 // bytes looked at for one page
	minScan    = 4 * Max
	maxWork    = 1 << 28 // bytes times steps for one page
)

// A Pattern is what is looked for.
type Pattern struct {
	Text       string // an RE2 expression,
	Literal    bool   // or what a line contains
	IgnoreCase bool
	Invert     bool // keep the lines that don't match
}

// A Filter keeps lines. The zero Filter is invalid.
type Filter struct {
	invert  bool
	literal []byte // what each line that matches contains, if that is known
	re      *regexp.Regexp
	steps   int64
}

// NewFilter keeps what p says.
func NewFilter(p Pattern) (*Filter, error) {
	switch {
	case p.Text == "":
		return nil, errors.New("there is nothing to look for")
	case len(p.Text) > maxPattern:
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(p.Text), maxPattern)
	case !utf8.ValidString(p.Text):
		return nil, errors.New("it isn't valid UTF-8")
	case p.Literal && strings.Contains(p.Text, "\n"):
		return nil, errors.New("it contains a line break, but lines are looked at one by one")
	case p.Literal && !p.IgnoreCase:
		return &Filter{literal: []byte(p.Text), invert: p.Invert}, nil
	}
	text := p.Text
	if p.Literal {
		text = regexp.QuoteMeta(text)
	}
	if p.IgnoreCase {
		text = "(?i)" + text
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("it isn't an RE2 expression: %w", err)
	}
	// Measured before it is compiled, because repetitions unfold then.
	n := steps(tree)
	if n > maxProgram {
		return nil, fmt.Errorf("its repetitions unfold to %d steps, at most %d are allowed", n, maxProgram)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("it isn't an RE2 expression: %w", err)
	}
	return &Filter{re: re, steps: n, invert: p.Invert, literal: []byte(required(tree))}, nil
}

// required returns the longest text found that every match contains.
func required(re *syntax.Regexp) (longest string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			if s := required(sub); len(s) > len(longest) {
				longest = s
			}
		}
	}
	return longest
}

// Needle returns what each line that is kept contains, if something is known.
func (f *Filter) Needle() []byte {
	if f.invert {
		return nil
	}
	return f.literal
}

func steps(re *syntax.Regexp) int64 {
	n := int64(1 + len(re.Rune)/16)
	if re.Op == syntax.OpLiteral {
		n = int64(len(re.Rune))
	}
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= int64(max(re.Min, re.Max, 1))
	}
	return n
}

// Match reports whether a line is kept; its end isn't looked at.
func (f *Filter) Match(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if f.re != nil {
		return f.re.Match(line) != f.invert
	}
	return bytes.Contains(line, f.literal) != f.invert
}

// Scan returns how many bytes may be looked at for one page: fewer for an
// expression whose every byte costs more.
func (f *Filter) Scan() int64 {
	if f.re == nil {
		return maxScan
	}
	return min(maxScan, max(minScan, maxWork/f.steps))
}
