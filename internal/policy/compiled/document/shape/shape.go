// Package shape describes what a YAML document may look like, once, and makes
// two things of the description: a strict reader that reports every fault with
// its place, and a JSON Schema. Because both come from one table they can't
// drift apart.
//
// # Limits
//
// Shapes know words, lists and keys, not what they mean. A document that has
// the right shape may still be nonsense; package document and package policy
// judge that.
package shape

import "paddock/internal/policy/compiled/document/shape/expression"

// A Shape is one of the types below: what a value may look like.
type Shape interface {
	// read returns the value, or nil after adding faults to r.
	read(r *reader, n node) *Value
	// schema returns the JSON Schema of the shape.
	schema() map[string]any
	// say names the shape in a fault: "a list", "true or false".
	say() string
}

// An Object is a mapping with a fixed set of keys.
type Object struct {
	Doc  string
	Keys []Key
	// Later are keys of the design that this version can't honour; the text
	// says what they will do. They are refused, never ignored.
	Later map[string]string
	// OneOf names keys of which exactly one must be there.
	OneOf []string
	// Needs says that a key makes sense only beside another.
	Needs map[string]string
	// Conditions are further schema clauses, checked in Go by the owner.
	Conditions []any
}

// A Key is one key of an Object.
type Key struct {
	Name     string
	Doc      string
	Shape    Shape
	Required bool
	// Unless names a key beside which a required one may be left out.
	Unless string
}

// A Map is a mapping with free keys.
type Map struct {
	Name Text // what a key may look like
	Of   Shape
}

// A List is a sequence. Min is the least number of its items.
type List struct {
	Of  Shape
	Min int
}

// A Text is a scalar that is kept letter by letter.
type Text struct {
	// Say names it in faults, with its article: "an absolute path".
	Say string
	// Pattern that the whole text must match; nil takes any.
	Pattern *expression.Expression
	// Loose takes numbers and booleans too, as they are written: 012 stays
	// 012. Lists of words need that, since nobody quotes `-count=1` or `8080`.
	Loose bool
}

// An Integer is a decimal number between Min and Max.
type Integer struct{ Min, Max int64 }

// A Boolean is true or false.
type Boolean struct{}

// A Choice is one of some words.
type Choice []string

// An Either is a scalar of one shape or a value of another, told apart by kind.
type Either struct {
	Scalar Shape
	Other  Shape
}

// A Number is a text or a bare decimal number, as sizes are.
type Number struct {
	Say     string
	Pattern *expression.Expression
}

// A Decimal is a number that may have a fraction, in the plain form 0.5.
type Decimal struct{ Min, Max float64 }

// A Value is a part of a document that has its shape. A nil Value is one that
// is absent or was faulty; every method takes it.
type Value struct {
	Line, Column int
	// Text is a scalar as it is written, without quotes.
	Text string
	List []*Value
	// Entries are a mapping's, in file order.
	Entries []Entry
	// inner maps places within a text to places in the file.
	inner place
}

// An Entry is one key of a mapping with its value.
type Entry struct {
	Key   *Value
	Value *Value
}

// Get returns the value of a key, or nil.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	for _, e := range v.Entries {
		if e.Key.Text == name {
			return e.Value
		}
	}
	return nil
}

// Items returns a list's items.
func (v *Value) Items() []*Value {
	if v == nil {
		return nil
	}
	return v.List
}

// Pairs returns a mapping's entries.
func (v *Value) Pairs() []Entry {
	if v == nil {
		return nil
	}
	return v.Entries
}

// Within returns the place in the file of a place in the text; lines count
// from one, columns from zero. Where that can't be told exactly it is the
// place where the text begins.
func (v *Value) Within(line, column int) (int, int) {
	switch {
	case v.inner.block && line >= 1:
		return v.Line + line, v.inner.column + column
	case v.inner.exact && line <= 1:
		return v.Line, v.inner.column + column
	}
	return v.Line, v.Column
}

// A place says where in the file a text's own letters are.
type place struct {
	block  bool // a literal block: its lines are the file's, indented
	exact  bool // one line, letter by letter
	column int  // of the first letter
}

// A Fault is one thing wrong with a document.
type Fault struct {
	Line, Column int
	Message      string
}

// Expression returns the expression of a [Text] or [Number]; it must be valid.
func Expression(source string) *expression.Expression { return expression.New(source) }
