// Package shrink takes programs and argument rules out of the text of a policy.
//
// # Limits
//
// It takes lines away and puts rules in the place of `any`: what it has written is read
// again and compared, and where the text is written so that nothing can be taken out
// it gives up. What may go is asked elsewhere.
package shrink

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/pin"
)

// A Cut is of one program: all of it, or the rules at some places of its list, or its
// `any`, for rules as `{allow: [a, b]}` that are YAML already.
type Cut struct {
	Program int // its place in the list of programs
	All     bool
	Rules   []int
	Any     []string
}

// Write returns data, a policy without faults, without what is cut.
func Write(data []byte, cuts []Cut) ([]byte, error) {
	file, faults := document.Read("", data)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].At.Line, faults[0].Message)
	}
	p := pen{data: data}
	for _, c := range cuts {
		e := file.Executables[c.Program]
		err := error(nil)
		switch {
		case c.All:
			err = p.item(e.At.Line, e.At.Column)
		case c.Any != nil:
			err = p.any(e.ArgsAt.Line, e.ArgsAt.Column, c.Any)
		}
		for _, i := range c.Rules {
			err = errors.Join(err, p.item(e.Args[i].At.Line, e.Args[i].At.Column))
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(p.edits, func(a, b edit) int { return b.from - a.from }) // the last first, so that places stay
	text := data
	for _, e := range p.edits {
		text = slices.Concat(text[:e.from], []byte(e.text), text[e.to:])
	}
	return text, onlyLess(data, text, cuts)
}

// An edit puts text in the place of what is there.
type edit struct {
	from, to int
	text     string
}

type pen struct {
	data  []byte
	edits []edit
}

// line returns the line that begins at from, and where the next one does.
func (p *pen) line(from int) (text string, next int) {
	next = len(p.data)
	if i := bytes.IndexByte(p.data[from:], '\n'); i >= 0 {
		next = from + i + 1
	}
	return strings.TrimRight(string(p.data[from:next]), "\r\n"), next
}

func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// item takes the item of a list out that begins at a place, with the comments right
// above it.
func (p *pen) item(line, column int) error {
	from := pin.Offset(p.data, line, 1)
	before := strings.TrimRight(string(p.data[from:pin.Offset(p.data, line, column)]), " ")
	dash := len(before) - 1
	if strings.TrimLeft(before, " ") != "-" {
		return byHand(line)
	}
	end, at := from, from
	for at < len(p.data) {
		text, next := p.line(at)
		if strings.TrimSpace(text) != "" {
			if at > from && indent(text) <= dash {
				break
			}
			end = next
		}
		at = next
	}
	for from > 0 {
		above := bytes.LastIndexByte(p.data[:from-1], '\n') + 1
		text, _ := p.line(above)
		if indent(text) != dash || !strings.HasPrefix(text[dash:], "#") {
			break
		}
		from = above
	}
	p.edits = append(p.edits, edit{from: from, to: end})
	return nil
}

// any puts rules in the place of the word at a place.
func (p *pen) any(line, column int, rules []string) error {
	start, at := pin.Offset(p.data, line, 1), pin.Offset(p.data, line, column)
	word, ok := "any", false
	for _, w := range []string{"any", `"any"`, "'any'"} {
		if bytes.HasPrefix(p.data[at:], []byte(w)) {
			word, ok = w, true
		}
	}
	if !ok {
		return byHand(line)
	}
	text := "[" + strings.Join(rules, ", ") + "]"
	before := string(p.data[start:at])
	if key, alone := strings.CutSuffix(strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(before, " "), "-"), " "), " "); alone && key == "args:" {
		in := strings.Repeat(" ", strings.Index(before, "args:")+2)
		rest, _ := p.line(at + len(word))
		text = strings.TrimSpace(rest)
		if text != "" {
			text = " " + text // a comment
		}
		text = strings.TrimSuffix(text, "\r")
		for _, r := range rules {
			text += "\n" + in + "- " + strings.TrimSuffix(strings.TrimPrefix(r, "{"), "}")
		}
		if bytes.Contains(p.data, []byte("\r\n")) {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		p.edits = append(p.edits, edit{at - 1, at + len(word) + len(rest), text})
		return nil
	}
	p.edits = append(p.edits, edit{at, at + len(word), text})
	return nil
}

func byHand(line int) error {
	return fmt.Errorf("line %d is written in a way from which nothing can be taken by itself; take it out by hand", line)
}

// onlyLess reads both texts again: the second must say the same but for what was cut.
func onlyLess(before, after []byte, cuts []Cut) error {
	if _, faults := document.Read("", after); len(faults) > 0 {
		return fmt.Errorf("line %d can't be changed by itself: %s; take out by hand what isn't needed", faults[0].At.Line, faults[0].Message)
	}
	var was, is map[string]any
	if err := errors.Join(yaml.Unmarshal(before, &was), yaml.Unmarshal(after, &is)); err != nil {
		return err
	}
	programs, _ := was["executables"].([]any)
	var want []any
	for i, one := range programs {
		at := slices.IndexFunc(cuts, func(c Cut) bool { return c.Program == i })
		if at < 0 {
			want = append(want, one)
			continue
		}
		c := cuts[at]
		if c.All {
			continue
		}
		entry, ok := one.(map[string]any)
		if !ok {
			return byHand(1)
		}
		if c.Any != nil {
			var rules []any
			if err := yaml.Unmarshal([]byte("["+strings.Join(c.Any, ", ")+"]"), &rules); err != nil {
				return err
			}
			entry["args"] = rules
		} else {
			list, _ := entry["args"].([]any)
			var left []any
			for j, r := range list {
				if !slices.Contains(c.Rules, j) {
					left = append(left, r)
				}
			}
			entry["args"] = left
		}
		want = append(want, entry)
	}
	was["executables"] = want
	if !reflect.DeepEqual(was, is) {
		return byHand(1)
	}
	return nil
}
