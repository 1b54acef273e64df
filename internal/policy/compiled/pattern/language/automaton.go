package language

import (
	"encoding/binary"
	"errors"
	"regexp/syntax"
	"slices"
	"unicode"
)

// An automaton reads a word letter by letter. Its states are strings, so that
// they can be compared and remembered.
type automaton interface {
	start() string
	step(state string, r rune) string
	// out is what is known of a word that ends here.
	out(state string) byte
}

// An expression is an RE2 program, simulated over all of its threads at once.
type expression struct{ prog *syntax.Prog }

var errAssertion = errors.New("an expression looks around itself (\\b, (?m)^), which isn't followed here")

func newExpression(source string) (*expression, error) {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	for _, in := range prog.Inst {
		if in.Op == syntax.InstEmptyWidth && syntax.EmptyOp(in.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
			return nil, errAssertion
		}
	}
	return &expression{prog}, nil
}

// A state is where threads stand, with a mark while no letter has been read.
func (e *expression) start() string { return "^" + thread(e.prog.Start) }

func thread(pc int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(pc))) }

// follow returns the instructions that wait for a letter, and whether one accepts.
func (e *expression) follow(state string, end bool) (waiting []int, accepts bool) {
	begin := len(state)%4 == 1
	if begin {
		state = state[1:]
	}
	seen := make(map[int]bool, len(e.prog.Inst))
	var stack []int
	for ; state != ""; state = state[4:] {
		stack = append(stack, int(binary.BigEndian.Uint32([]byte(state[:4]))))
	}
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		in := &e.prog.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, int(in.Out), int(in.Arg))
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, int(in.Out))
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(in.Arg)
			if (op&syntax.EmptyBeginText == 0 || begin) && (op&syntax.EmptyEndText == 0 || end) {
				stack = append(stack, int(in.Out))
			}
		case syntax.InstMatch:
			accepts = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			waiting = append(waiting, pc)
		case syntax.InstFail:
		}
	}
	return waiting, accepts
}

func (e *expression) step(state string, r rune) string {
	waiting, _ := e.follow(state, false)
	var next []int
	for _, pc := range waiting {
		if in := &e.prog.Inst[pc]; in.MatchRune(r) {
			next = append(next, int(in.Out))
		}
	}
	slices.Sort(next)
	out := ""
	for _, pc := range slices.Compact(next) {
		out += thread(pc)
	}
	return out
}

func (e *expression) out(state string) byte {
	if _, accepts := e.follow(state, true); accepts {
		return 1
	}
	return 0
}

// edges adds to bounds where the expression begins or ends to care.
func (e *expression) edges(bounds map[rune]bool) {
	edge := func(lo, hi rune) { bounds[lo], bounds[hi+1] = true, true }
	for _, in := range e.prog.Inst {
		switch in.Op {
		case syntax.InstRuneAnyNotNL:
			edge('\n', '\n')
		case syntax.InstRune, syntax.InstRune1:
			if len(in.Rune) == 1 {
				edge(in.Rune[0], in.Rune[0])
				for f := unicode.SimpleFold(in.Rune[0]); f != in.Rune[0]; f = unicode.SimpleFold(f) {
					edge(f, f)
				}
				continue
			}
			for i := 0; i+1 < len(in.Rune); i += 2 {
				edge(in.Rune[i], in.Rune[i+1])
			}
		}
	}
}

// hears says of each instruction that reads a letter whether it takes r.
func (e *expression) hears(r rune) string {
	out := make([]byte, 0, len(e.prog.Inst))
	for i := range e.prog.Inst {
		switch in := &e.prog.Inst[i]; in.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if in.MatchRune(r) {
				out = append(out, 1)
			} else {
				out = append(out, 0)
			}
		}
	}
	return string(out)
}

// A list of words tells each of them apart from all other words.
type wordList map[string]bool

func newWordList(words []string) wordList {
	l := wordList{"": false}
	for _, w := range words {
		for i := range w {
			l[w[:i]] = l[w[:i]] || false // the beginning of a word, and a word only if it is one
		}
		l[w] = true
	}
	return l
}

const elsewhere = "\xff" // no word of a policy begins so

func (l wordList) start() string { return "" }

func (l wordList) step(state string, r rune) string {
	next := state + string(r)
	if _, ok := l[next]; state == elsewhere || !ok {
		return elsewhere
	}
	return next
}

func (l wordList) out(state string) byte {
	if l[state] {
		return 1
	}
	return 0
}
