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

// A Filter keeps lines. The zero Filter is invalid.
type Filter struct {
	literal []byte
	re      *regexp.Regexp
	steps   int64
}

// NewFilter keeps lines that match an RE2 expression or contain a text.
func NewFilter(pattern string, literal bool) (*Filter, error) {
	switch {
	case pattern == "":
		return nil, errors.New("there is nothing to look for")
	case len(pattern) > maxPattern:
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(pattern), maxPattern)
	case !utf8.ValidString(pattern):
		return nil, errors.New("it isn't valid UTF-8")
	case literal && strings.Contains(pattern, "\n"):
		return nil, errors.New("it contains a line break, but lines are looked at one by one")
	case literal:
		return &Filter{literal: []byte(pattern)}, nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("it isn't an RE2 expression: %w", err)
	}
	// Measured before it is compiled, because repetitions unfold then.
	n := steps(tree)
	if n > maxProgram {
		return nil, fmt.Errorf("its repetitions unfold to %d steps, at most %d are allowed", n, maxProgram)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("it isn't an RE2 expression: %w", err)
	}
	return &Filter{re: re, steps: n}, nil
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

// Match looks at a line without its end.
func (f *Filter) Match(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if f.re != nil {
		return f.re.Match(line)
	}
	return bytes.Contains(line, f.literal)
}

// Scan returns how many bytes may be looked at for one page: fewer for an
// expression whose every byte costs more.
func (f *Filter) Scan() int64 {
	if f.re == nil {
		return maxScan
	}
	return min(maxScan, max(minScan, maxWork/f.steps))
}
