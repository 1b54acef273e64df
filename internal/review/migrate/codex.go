package migrate

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"paddock/internal/review/migrate/calls"
)

// Codex reads a file of Codex's execpolicy rules: calls of prefix_rule, host_executable
// and network_rule, which is only told of, with literal words. A call that can't be said
// is left out, with what it would refuse; a file that does more than call is an error.
func Codex(data []byte) (*Import, error) {
	if len(data) > most || !utf8.Valid(data) {
		return nil, fmt.Errorf("not a file of rules: want at most %d bytes of UTF-8", most)
	}
	list, err := calls.Read(string(data))
	if err != nil {
		return nil, fmt.Errorf("%w; want prefix_rule(…), host_executable(…) or network_rule(…) and nothing else", err)
	}
	m := &Import{paths: map[string]string{}}
	for _, c := range list {
		switch {
		case c.Inner:
			m.left(line{effect: deny, said: said(c)}, "what it calls for its arguments may make rules itself")
		case c.Function == "prefix_rule":
			m.prefix(c)
		case c.Function == "host_executable":
			m.host(c)
		case c.Function == "network_rule":
			m.note("the network_rule at line %d, for %q, is left out: hosts are listed under `network` of the programs that reach them", c.Line, c.Arg("host", 0).Text)
		default:
			l, _ := rule(c)
			m.left(l, fmt.Sprintf("%.40s isn't known", c.Function))
		}
	}
	return m, nil
}

func said(c calls.Call) string {
	if c.Function == "prefix_rule" {
		return fmt.Sprintf("the rule at line %d", c.Line)
	}
	return fmt.Sprintf("%.40s at line %d", c.Function, c.Line)
}

// rule reads a rule, and says what of it can't be said. Then the words are those of the
// program alone, as far as they can be told, and what may refuse does.
func rule(c calls.Call) (l line, problem string) {
	l = line{effect: deny, more: true, said: said(c)}
	decision := c.Arg("decision", 1)
	known := map[string]effect{"allow": allow, "prompt": ask, "forbidden": deny}
	e, ok := known[decision.Text]
	switch {
	case c.Problem != "":
		return l, c.Problem
	case decision.Kind == calls.None && c.Function == "prefix_rule":
		l.effect = allow
	case decision.Kind != calls.Word || !ok:
		problem = fmt.Sprintf("the decision %q isn't known", decision.Text)
	default:
		l.effect = e
	}
	for _, key := range slices.Sorted(maps.Keys(c.Named)) {
		if !slices.Contains([]string{"pattern", "decision", "justification", "match", "not_match"}, key) {
			problem = fmt.Sprintf("the argument %.40s isn't known", key)
		}
	}
	pattern := c.Arg("pattern", 0)
	if len(pattern.List) == 0 {
		return l, "it has no pattern of literal words"
	}
	for i, item := range pattern.List {
		words := alternatives(item)
		if words == nil {
			problem = "its pattern isn't all literal words"
			break
		}
		if l.words = append(l.words, words); i == 0 && slices.Contains(words, "") {
			return line{effect: l.effect, said: l.said}, "an empty word is no program"
		}
	}
	return l, problem
}

// alternatives are the words that a part of a pattern stands for; nil where that can't be told.
func alternatives(item calls.Value) (words []string) {
	list := item.List
	if item.Kind == calls.Word {
		list = []calls.Value{item}
	}
	for _, a := range list {
		if a.Kind != calls.Word {
			return nil
		}
		if !slices.Contains(words, a.Text) {
			words = append(words, a.Text)
		}
	}
	return words
}

// prefix takes one prefix_rule.
func (m *Import) prefix(c calls.Call) {
	l, problem := rule(c)
	if problem != "" {
		m.left(l, problem)
		return
	}
	if l.effect != allow {
		l.why = strings.TrimSpace(c.Arg("justification", 4).Text)
	}
	if c.Arg("match", 2).Kind != calls.None || c.Arg("not_match", 3).Kind != calls.None {
		m.note("the examples of the rule at line %d are left out: write them under tests", c.Line)
	}
	m.add(l)
}

// host takes one host_executable: where a program may lie.
func (m *Import) host(c calls.Call) {
	name, paths := c.Arg("name", 0), alternatives(c.Arg("paths", 1))
	l := line{effect: deny, more: true, said: said(c)}
	program := name.Text
	if name.Kind != calls.Word || program == "" || c.Problem != "" {
		m.left(l, "which program it is about can't be told")
		return
	}
	l.words = [][]string{{program}}
	l.said = fmt.Sprintf("host_executable %s", program)
	if len(paths) != 1 || !path.IsAbs(paths[0]) || path.Clean(paths[0]) != paths[0] {
		m.left(l, "a policy has one absolute path for a program")
		return
	}
	if path.Base(paths[0]) != program {
		m.left(l, "its file has another name")
		return
	}
	if before, ok := m.paths[program]; ok && before != paths[0] {
		m.left(l, "another one has another file")
		return
	}
	m.paths[program] = paths[0]
}
