// Package grow adds argument rules and programs to the text of a policy.
//
// # Limits
//
// It adds lines and changes none: what it has written is read again and compared,
// and where the text is written so that nothing can be added it gives up. What is
// worth adding is asked elsewhere.
package grow

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

// A Program is what is added: Rules, each on one line as `{allow: [a, b]}`, to the
// program that is called Word, or a new one where Path is set. All are YAML already.
type Program struct {
	Word  string
	Path  string
	Rules []string
}

// Write returns data, a policy without faults, with programs added behind what is
// there.
func Write(data []byte, programs []Program) ([]byte, error) {
	file, faults := document.Read("", data)
	if len(faults) > 0 {
		return nil, fmt.Errorf("line %d: %s", faults[0].At.Line, faults[0].Message)
	}
	p := pen{data: data, file: file}
	// Rules first: those of the last program stand before what comes behind it.
	inOrder := slices.SortedStableFunc(slices.Values(programs), func(a, b Program) int { return min(len(a.Path), 1) - min(len(b.Path), 1) })
	for _, one := range inOrder {
		var err error
		if one.Path != "" {
			err = p.program(one)
		} else {
			err = p.rules(one)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(p.edits, func(a, b edit) int { return b.at - a.at }) // the last first, so that places stay
	text := data
	for _, e := range p.edits {
		text = slices.Concat(text[:e.at], []byte(e.text), text[e.at:])
	}
	return text, onlyMore(data, text, programs)
}

// An edit puts text at a place.
type edit struct {
	at   int
	text string
}

type pen struct {
	data  []byte
	file  document.File
	edits []edit
}

func (p *pen) add(at int, text string) {
	for i := range p.edits {
		if p.edits[i].at == at {
			p.edits[i].text += text
			return
		}
	}
	p.edits = append(p.edits, edit{at, text})
}

// rules adds to the rules of a program that is there.
func (p *pen) rules(one Program) error {
	i := slices.IndexFunc(p.file.Executables, func(e document.Executable) bool {
		return e.Name.Value == one.Word || !e.Name.Given() && e.Path.Value == one.Word
	})
	if i < 0 || len(p.file.Executables[i].Args) == 0 {
		return fmt.Errorf("%s has no list of argument rules", one.Word)
	}
	e := p.file.Executables[i]
	if at := pin.Offset(p.data, e.ArgsAt.Line, e.ArgsAt.Column); at < len(p.data) && p.data[at] == '[' {
		return p.flow(at, one.Rules, e.ArgsAt.Line)
	}
	last := e.Args[len(e.Args)-1].At
	dash, ok := p.dash(last.Line, last.Column)
	if !ok {
		return byHand(last.Line)
	}
	var lines []string
	for _, r := range one.Rules {
		lines = append(lines, strings.Repeat(" ", dash)+"- "+block(r))
	}
	p.lines(last.Line, dash, lines)
	return nil
}

// block writes a rule as it stands in a list of lines.
func block(rule string) string { return strings.TrimSuffix(strings.TrimPrefix(rule, "{"), "}") }

// program adds one to the list of programs.
func (p *pen) program(one Program) error {
	n := len(p.file.Executables)
	if n == 0 {
		section := p.file.Sections["executables"]
		from := pin.Offset(p.data, section.Line, section.Column)
		open := bytes.IndexByte(p.data[from:], '[')
		if open < 0 {
			return byHand(section.Line)
		}
		return p.flow(from+open, []string{flowed(one)}, section.Line)
	}
	last := p.file.Executables[n-1].At
	if dash, ok := p.dash(last.Line, last.Column); ok {
		in := strings.Repeat(" ", dash)
		lines := []string{in + "- name: " + one.Word, in + "  path: " + one.Path, in + "  args:"}
		for _, r := range one.Rules {
			lines = append(lines, in+"    - "+block(r))
		}
		p.lines(last.Line, dash, lines)
		return nil
	}
	section := p.file.Sections["executables"]
	from := pin.Offset(p.data, section.Line, section.Column)
	open := bytes.IndexByte(p.data[from:], '[')
	if open < 0 || from+open > pin.Offset(p.data, p.file.Executables[0].At.Line, p.file.Executables[0].At.Column) {
		return byHand(section.Line)
	}
	return p.flow(from+open, []string{flowed(one)}, section.Line)
}

func flowed(one Program) string {
	return "{name: " + one.Word + ", path: " + one.Path + ", args: [" + strings.Join(one.Rules, ", ") + "]}"
}

// dash returns how far in the dash is that begins the item at a place.
func (p *pen) dash(line, column int) (int, bool) {
	start, at := pin.Offset(p.data, line, 1), pin.Offset(p.data, line, column)
	before := string(p.data[start:at])
	trimmed := strings.TrimRight(before, " ")
	in, ok := strings.CutSuffix(trimmed, "-")
	return len(in), ok && strings.Trim(in, " ") == ""
}

// lines puts lines behind the item that begins in line, with its dash so far in.
func (p *pen) lines(line, dash int, lines []string) {
	at := pin.Offset(p.data, line, 1)
	end, first := at, true
	for at < len(p.data) {
		next := len(p.data)
		if i := bytes.IndexByte(p.data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		text := strings.TrimRight(string(p.data[at:next]), "\r\n")
		content := strings.TrimLeft(text, " ")
		if content != "" {
			if !first && len(text)-len(content) <= dash {
				break
			}
			end, first = next, false
		}
		at = next
	}
	text := strings.Join(lines, "\n") + "\n"
	if end > 0 && p.data[end-1] != '\n' {
		text = "\n" + strings.TrimSuffix(text, "\n")
	}
	if bytes.Contains(p.data, []byte("\r\n")) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	p.add(end, text)
}

// flow puts items before the bracket that closes the one at from.
func (p *pen) flow(from int, items []string, line int) error {
	end := closing(p.data, from)
	if end < 0 {
		return byHand(line)
	}
	text := strings.Join(items, ", ")
	at := end
	for at > from && strings.IndexByte(" \t\r\n", p.data[at-1]) >= 0 {
		at--
	}
	if p.data[at-1] != '[' && p.data[at-1] != ',' {
		text = ", " + text
	}
	for _, e := range p.edits {
		if e.at == at { // another was put there before
			text = ", " + strings.TrimPrefix(text, ", ")
		}
	}
	p.add(at, text)
	return nil
}

// closing returns the place of the bracket that closes the one at from; -1 if it
// isn't found.
func closing(data []byte, from int) int {
	depth := 0
	for at := from; at < len(data); at++ {
		switch data[at] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return at
			}
		case '"', '\'':
			if strings.IndexByte(" ,[{:\n", data[at-1]) < 0 {
				break // within a word
			}
			if at = quoted(data, at); at < 0 {
				return -1
			}
		case '#':
			if data[at-1] == ' ' || data[at-1] == '\n' {
				i := bytes.IndexByte(data[at:], '\n')
				if i < 0 {
					return -1
				}
				at += i
			}
		}
	}
	return -1
}

// quoted returns the place of the quote that ends the one at from.
func quoted(data []byte, from int) int {
	quote := data[from]
	for at := from + 1; at < len(data); at++ {
		switch {
		case quote == '"' && data[at] == '\\':
			at++
		case data[at] != quote:
		case quote == '\'' && at+1 < len(data) && data[at+1] == quote:
			at++
		default:
			return at
		}
	}
	return -1
}

func byHand(line int) error {
	return fmt.Errorf("line %d is written in a way to which nothing can be added by itself; add it by hand", line)
}

// count is how many programs and argument rules there are.
func count(f document.File) (programs, rules int) {
	for _, e := range f.Executables {
		rules += len(e.Args)
	}
	return len(f.Executables), rules
}

// onlyMore reads both texts again: the second must say the same and what was added.
func onlyMore(before, after []byte, programs []Program) error {
	file, faults := document.Read("", after)
	if len(faults) > 0 {
		return fmt.Errorf("line %d can't be added to by itself: %s; add it by hand", faults[0].At.Line, faults[0].Message)
	}
	first, _ := document.Read("", before)
	wantPrograms, wantRules := count(first)
	for _, one := range programs {
		wantRules += len(one.Rules)
		if one.Path != "" {
			wantPrograms++
		}
	}
	if n, rules := count(file); n != wantPrograms || rules != wantRules {
		return byHand(1)
	}
	var was, is map[string]any
	if err := errors.Join(yaml.Unmarshal(before, &was), yaml.Unmarshal(after, &is)); err != nil {
		return err
	}
	old, _ := was["executables"].([]any)
	now, _ := is["executables"].([]any)
	if len(now) < len(old) {
		return byHand(1)
	}
	is["executables"] = was["executables"]
	for i := range old {
		if !begins(old[i], now[i]) {
			return byHand(1)
		}
	}
	if !reflect.DeepEqual(was, is) {
		return byHand(1)
	}
	return nil
}

// begins reports whether an entry is the old one, but for more rules at its end.
func begins(old, now any) bool {
	o, ok := old.(map[string]any)
	n, also := now.(map[string]any)
	if !ok || !also {
		return false
	}
	was, list := o["args"].([]any)
	is, still := n["args"].([]any)
	if list && still && len(is) > len(was) {
		n["args"] = is[:len(was)]
	}
	return reflect.DeepEqual(o, n)
}
