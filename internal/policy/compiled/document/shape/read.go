package shape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"

	"paddock/internal/policy/compiled/document/shape/expression"
)

// Bounds of a document. A policy is written by hand; a longer one is a mistake.
const (
	MaxBytes  = 1 << 20
	MaxFaults = 200
)

type node = *yaml.Node

type reader struct {
	lines  [][]byte
	faults []Fault
	// last is the letter that was asked for last. Values come nearly in the
	// file's order, so the next is close to it; counted from the line's start
	// each time, a long line would cost the square of its length.
	last struct{ line, letter, offset int }
}

// after returns what follows the first n characters of a line.
func (r *reader) after(line, n int) ([]byte, bool) {
	text := r.lines[line-1]
	at := &r.last
	if at.line != line {
		at.line, at.letter, at.offset = line, 0, 0
	}
	for ; at.letter > n; at.letter-- {
		_, size := utf8.DecodeLastRune(text[:at.offset])
		at.offset -= size
	}
	for ; at.letter < n; at.letter++ {
		if at.offset == len(text) {
			return nil, false
		}
		_, size := utf8.DecodeRune(text[at.offset:])
		at.offset += size
	}
	return text[at.offset:], true
}

func (r *reader) fault(n node, format string, args ...any) {
	r.faults = append(r.faults, Fault{n.Line, n.Column, fmt.Sprintf(format, args...)})
}

// Read reads data, which must be one YAML document of the shape. It returns
// what has the right shape together with every fault; only when there are no
// faults is the value complete.
func Read(data []byte, s Shape) (*Value, []Fault) {
	root, fault := parse(data)
	if fault != nil {
		return nil, []Fault{*fault}
	}
	r := &reader{lines: bytes.Split(data, []byte("\n"))}
	r.plain(root)
	v := s.read(r, root)
	if r.faults == nil {
		return v, nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return v, slices.Compact(r.faults)
}

// parse returns the root of the only document, or why there is none.
func parse(data []byte) (node, *Fault) {
	if len(data) > MaxBytes {
		return nil, &Fault{1, 1, fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), MaxBytes)}
	}
	if line, column, ok := firstBadByte(data); !ok {
		return nil, &Fault{line, column, "not valid UTF-8; save the file as UTF-8"}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, syntax(err)
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF), err == nil && len(doc.Content) == 0:
		return nil, &Fault{1, 1, "the file is empty; a policy begins with `version: 1`"}
	case err != nil:
		return nil, syntax(err)
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, &Fault{second.Line, second.Column, "a second document; a policy is one document, so remove the `---` or `...` and what follows"}
	case !errors.Is(err, io.EOF):
		return nil, syntax(err)
	}
	return doc.Content[0], nil
}

func firstBadByte(data []byte) (line, column int, ok bool) {
	line, column = 1, 1
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		switch {
		case c == utf8.RuneError && size == 1:
			return line, column, false
		case c == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		data = data[size:]
	}
	return 0, 0, true
}

// syntax turns the YAML library's error into a fault.
func syntax(err error) *Fault {
	var one *yaml.LoadError
	var many *yaml.LoadErrors
	if errors.As(err, &many) && len(many.Errors) > 0 {
		one = many.Errors[0]
	} else if !errors.As(err, &one) {
		return &Fault{1, 1, "not YAML: " + err.Error()}
	}
	line, column := max(one.Mark.Line, 1), max(one.Mark.Column, 1)
	if strings.Contains(one.Message, "cannot start any token") {
		return &Fault{line, column, "not YAML: " + one.Message + " (is this a tab? indent with spaces)"}
	}
	return &Fault{line, column, "not YAML: " + one.Message}
}

// plain refuses whatever makes a file mean something else than it shows:
// anchors, aliases, merge keys and explicit tags.
func (r *reader) plain(n node) {
	if n.Anchor != "" && n.Kind != yaml.AliasNode {
		r.fault(n, "an anchor (`&%s`); write the value out where it is needed", n.Anchor)
	}
	switch {
	case n.Kind == yaml.AliasNode:
		r.fault(n, "an alias (`*%s`); write the value out where it is needed", n.Value)
		return
	case n.Style&yaml.TaggedStyle != 0:
		r.fault(n, "a tag (`%s`); remove it, types are known from the key", clip(n.Tag))
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!merge":
		r.fault(n, "a merge key (`<<`); write the keys out")
	}
	for _, c := range n.Content {
		r.plain(c)
	}
}

func (r *reader) wrong(n node, s Shape) *Value {
	if n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		return nil // already reported
	}
	r.fault(n, "want %s, not %s", s.say(), found(n))
	return nil
}

// found says what stands in the place of something else.
func found(n node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.ShortTag() == "!!null" {
		return "nothing (null)"
	}
	return "`" + clip(n.Value) + "`"
}

func clip(s string) string {
	const most = 60
	s = strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) {
			return '\uFFFD'
		}
		return c
	}, s)
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}

// keys walks a mapping's keys, refusing those that aren't text or come twice.
func (r *reader) keys(n node, visit func(key, value node)) {
	first := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			r.fault(key, "a key must be a word, not %s", found(key))
			continue
		}
		if key.ShortTag() == "!!merge" {
			continue // already reported
		}
		if line, twice := first[key.Value]; twice {
			r.fault(key, "`%s` is given twice; the first is on line %d", clip(key.Value), line)
			continue
		}
		first[key.Value] = key.Line
		visit(key, value)
	}
}

func (o Object) read(r *reader, n node) *Value {
	if n.Kind != yaml.MappingNode {
		return r.wrong(n, o)
	}
	v := &Value{Line: n.Line, Column: n.Column}
	seen := map[string]node{}
	r.keys(n, func(key, value node) {
		i := slices.IndexFunc(o.Keys, func(k Key) bool { return k.Name == key.Value })
		if i < 0 {
			r.fault(key, "%s", o.unknown(key.Value))
			return
		}
		seen[key.Value] = key
		if read := o.Keys[i].Shape.read(r, value); read != nil {
			v.Entries = append(v.Entries, Entry{scalar(r, key), read})
		}
	})
	o.missing(r, n, seen)
	return v
}

func (o Object) missing(r *reader, n node, seen map[string]node) {
	for _, k := range o.Keys {
		if k.Required && seen[k.Name] == nil && seen[k.Unless] == nil {
			r.fault(n, "`%s` is missing: %s", k.Name, k.Doc)
		}
	}
	var given []string
	for _, name := range o.OneOf {
		if seen[name] != nil {
			given = append(given, name)
		}
	}
	if len(o.OneOf) > 0 && len(given) != 1 {
		r.fault(n, "want exactly one of %s", quoted(o.OneOf))
	}
	for _, k := range o.Keys {
		if need := o.Needs[k.Name]; need != "" && seen[k.Name] != nil && seen[need] == nil {
			r.fault(seen[k.Name], "`%s` makes sense only beside `%s`", k.Name, need)
		}
	}
}

func (m Map) read(r *reader, n node) *Value {
	if n.Kind != yaml.MappingNode {
		return r.wrong(n, m)
	}
	v := &Value{Line: n.Line, Column: n.Column}
	r.keys(n, func(key, value node) {
		name := m.Name.read(r, key)
		if read := m.Of.read(r, value); name != nil && read != nil {
			v.Entries = append(v.Entries, Entry{name, read})
		}
	})
	return v
}

func (l List) read(r *reader, n node) *Value {
	if n.Kind != yaml.SequenceNode {
		return r.wrong(n, l)
	}
	v := &Value{Line: n.Line, Column: n.Column, List: make([]*Value, 0, len(n.Content))}
	for _, c := range n.Content {
		if read := l.Of.read(r, c); read != nil {
			v.List = append(v.List, read)
		}
	}
	if len(n.Content) < l.Min {
		r.fault(n, "want %s, not an empty one", l.say())
	}
	return v
}

func (t Text) read(r *reader, n node) *Value {
	if n.Kind != yaml.ScalarNode {
		return r.wrong(n, t)
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
	case "!!int", "!!float", "!!bool":
		if !t.Loose {
			r.fault(n, "want %s, not the %s `%s`; put it in quotes if it is meant as text", t.say(), kinds[n.ShortTag()], clip(n.Value))
			return nil
		}
	default:
		return r.wrong(n, t)
	}
	if t.Pattern != nil && !t.Pattern.MatchString(n.Value) {
		return r.wrong(n, t)
	}
	return scalar(r, n)
}

var kinds = map[string]string{"!!int": "number", "!!float": "number", "!!bool": "boolean"}

func (i Integer) read(r *reader, n node) *Value {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		return r.wrong(n, i)
	}
	// Only the decimal form that the number prints as: 012 and 0x1F mean
	// different things to different readers.
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || strconv.FormatInt(v, 10) != n.Value || v < i.Min || v > i.Max {
		return r.wrong(n, i)
	}
	return scalar(r, n)
}

func (b Boolean) read(r *reader, n node) *Value {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Value != "true" && n.Value != "false" {
		return r.wrong(n, b)
	}
	return scalar(r, n)
}

func (c Choice) read(r *reader, n node) *Value {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || !slices.Contains(c, n.Value) {
		return r.wrong(n, c)
	}
	return scalar(r, n)
}

func (e Either) read(r *reader, n node) *Value {
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		if v := e.Scalar.read(&reader{}, n); v != nil {
			return v
		}
		return r.wrong(n, e)
	}
	if n.Kind == yaml.ScalarNode {
		return r.wrong(n, e)
	}
	return e.Other.read(r, n)
}

func (s Number) read(r *reader, n node) *Value {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!str" || !s.Pattern.MatchString(n.Value) {
		return r.wrong(n, s)
	}
	return scalar(r, n)
}

func (d Decimal) read(r *reader, n node) *Value {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" && n.ShortTag() != "!!float" || !plainDecimal.MatchString(n.Value) {
		return r.wrong(n, d)
	}
	if v, err := strconv.ParseFloat(n.Value, 64); err != nil || v < d.Min || v > d.Max {
		return r.wrong(n, d)
	}
	return scalar(r, n)
}

// plainDecimal leaves out what readers of YAML disagree on: 1e3, 012, .5, 0x1.
var plainDecimal = expression.New(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// scalar makes the value of a scalar node and finds where its letters are.
func scalar(r *reader, n node) *Value {
	v := &Value{Line: n.Line, Column: n.Column, Text: n.Value}
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		for _, line := range r.lines[min(n.Line, len(r.lines)):] {
			if trimmed := bytes.TrimLeft(line, " "); len(bytes.TrimSpace(trimmed)) > 0 {
				v.inner = place{block: true, column: len(line) - len(trimmed) + 1}
				break
			}
		}
	case n.Line >= 1 && n.Line <= len(r.lines):
		start := n.Column
		if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			start++
		}
		if rest, ok := r.after(n.Line, start-1); ok && bytes.HasPrefix(rest, []byte(n.Value)) {
			v.inner = place{exact: true, column: start}
		}
	}
	return v
}
