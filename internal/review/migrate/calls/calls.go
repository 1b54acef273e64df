// Package calls reads files of Starlark that call functions with literal arguments, and
// do nothing else: rules that are written as calls.
//
// What stands in a call without being literal makes that argument, or that call, one
// that can't be told. What stands outside of calls can't be passed over, since it may
// decide which calls there are: it is an error.
//
// # Limits
//
// Nothing is evaluated but names that were given a literal before. A call within a call
// is told of, and not read.
package calls

import (
	"fmt"
	"slices"
)

// mostDepth bounds how deep lists are in each other.
const mostDepth = 4

// A Kind is what a value is.
type Kind int

// The kinds of values.
const (
	None  Kind = iota // nothing was given
	Word              // a text
	List              // a list of values
	Other             // what isn't literal, or is something else
)

// A Value is what an argument is given.
type Value struct {
	Kind Kind
	Text string
	List []Value
}

// A Call is one call of a function.
type Call struct {
	Line     int
	Function string
	Named    map[string]Value
	Given    []Value // without a name
	// Problem says why the arguments can't be told apart; empty if they can.
	Problem string
	// Inner is set where something is called to make the arguments, or the name of the
	// function was given something else before.
	Inner bool
}

// Arg is the argument of that name, or at that place.
func (c Call) Arg(name string, place int) Value {
	if v, ok := c.Named[name]; ok || place >= len(c.Given) {
		return v
	}
	return c.Given[place]
}

// Read reads the calls of a file.
func Read(text string) ([]Call, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	r := reader{known: map[string]Value{}}
	for len(tokens) > 0 {
		switch t := tokens[0]; {
		case t.is("\n") || t.is(";"):
			tokens = tokens[1:]
		case t.kind == quoted && ends(tokens[1:]):
			tokens = tokens[1:] // a text by itself says what the file is about
		case t.kind == ident && len(tokens) > 1 && tokens[1].is("("):
			n := 1 + tokens[1].mate
			r.call(t, tokens[2:n])
			tokens = tokens[n+1:]
		case t.kind == ident && len(tokens) > 1 && tokens[1].is("="):
			n := slices.IndexFunc(tokens, func(t token) bool { return t.is("\n") || t.is(";") })
			if n < 0 {
				n = len(tokens)
			}
			if inner(tokens[2:n]) {
				return nil, other(t)
			}
			r.known[t.text] = r.value(tokens[2:n], 0)
			tokens = tokens[n:]
		default:
			return nil, other(t)
		}
	}
	return r.calls, nil
}

// ends reports whether a statement ends before tokens.
func ends(tokens []token) bool {
	return len(tokens) == 0 || tokens[0].is("\n") || tokens[0].is(";")
}

func other(t token) error {
	return fmt.Errorf("line %d: want calls with literal words, and %.40q is more than that", t.line, t.text)
}

type reader struct {
	known map[string]Value // names, and what they stand for
	calls []Call
}

// inner reports whether tokens call anything. Names and brackets before an opening one
// are what calls look like; words like `not` look like that, too, which is no harm.
func inner(tokens []token) bool {
	for i, t := range tokens {
		if t.is("(") && i > 0 && (tokens[i-1].kind != sign || tokens[i-1].is(")") || tokens[i-1].is("]")) {
			return true
		}
	}
	return false
}

func (r *reader) call(function token, args []token) {
	_, renamed := r.known[function.text]
	c := Call{Line: function.line, Function: function.text, Named: map[string]Value{}, Inner: renamed || inner(args)}
	for _, arg := range split(args) {
		switch {
		case len(arg) > 1 && arg[0].kind == ident && arg[1].is("="):
			name := arg[0].text
			if _, twice := c.Named[name]; twice {
				c.Problem = name + " is given twice"
			}
			c.Named[name] = r.value(arg[2:], 0)
		case len(arg) == 0 || arg[0].is("*"):
			c.Problem = "its arguments aren't all written there"
		case len(c.Named) > 0:
			c.Problem = "an argument without a name is behind those with one"
		default:
			c.Given = append(c.Given, r.value(arg, 0))
		}
	}
	r.calls = append(r.calls, c)
}

// split parts tokens at the commas that are in no brackets. One at the end parts nothing.
func split(tokens []token) (out [][]token) {
	from := 0
	for i := 0; i < len(tokens); i++ {
		if t := tokens[i]; t.is(",") {
			out = append(out, tokens[from:i])
			from = i + 1
		} else if t.mate > 0 {
			i += t.mate
		}
	}
	if from < len(tokens) {
		out = append(out, tokens[from:])
	}
	return out
}

func (r *reader) value(tokens []token, depth int) Value {
	if len(tokens) == 0 || depth > mostDepth {
		return Value{Kind: Other}
	}
	switch t := tokens[0]; {
	case len(tokens) == 1 && t.kind == quoted:
		return Value{Kind: Word, Text: t.text}
	case len(tokens) == 1 && t.kind == ident:
		if v, ok := r.known[t.text]; ok {
			return v
		}
	case t.is("[") && t.mate == len(tokens)-1:
		v := Value{Kind: List}
		for _, one := range split(tokens[1 : len(tokens)-1]) {
			v.List = append(v.List, r.value(one, depth+1))
		}
		return v
	}
	return Value{Kind: Other}
}
