package migrate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Codex reads a file of Codex's execpolicy rules: calls of prefix_rule, host_executable
// and network_rule, which is only told of, with literal words. Anything else of Starlark
// is an error.
func Codex(data []byte) (*Import, error) {
	if len(data) > most || !utf8.Valid(data) {
		return nil, fmt.Errorf("not a file of rules: want at most %d bytes of UTF-8", most)
	}
	s := &scanner{text: string(data), line: 1}
	m := &Import{paths: map[string]string{}}
	for s.space(); s.text != ""; s.space() {
		at := s.line
		function := s.ident()
		args, err := s.call()
		if err != nil || function == "" {
			return nil, fmt.Errorf("line %d: want prefix_rule(…), host_executable(…) or network_rule(…) with literal words: %v", s.line, err)
		}
		switch function {
		case "prefix_rule":
			err = m.prefix(args, at)
		case "host_executable":
			err = m.host(args)
		case "network_rule":
			m.note("the network_rule at line %d, for %q, is left out: hosts are listed under `network` of the programs that reach them", at, args["host"].text)
		default:
			err = fmt.Errorf("%s isn't known", function)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
	}
	return m, nil
}

// prefix takes one prefix_rule.
func (m *Import) prefix(args map[string]value, at int) error {
	decision := args["decision"].text
	effects := map[string]effect{"": allow, "allow": allow, "prompt": ask, "forbidden": deny}
	e, ok := effects[decision]
	if !ok {
		return fmt.Errorf("the decision %q isn't known", decision)
	}
	for key := range args {
		if !slices.Contains([]string{"pattern", "decision", "justification", "match", "not_match"}, key) {
			return fmt.Errorf("the argument %s isn't known", key)
		}
	}
	if len(args["pattern"].list) == 0 {
		return fmt.Errorf("a rule needs a pattern")
	}
	l := line{effect: e, more: true, said: fmt.Sprintf("the rule at line %d", at)}
	if why := strings.TrimSpace(args["justification"].text); e != allow {
		l.why = why
	}
	for _, item := range args["pattern"].list {
		switch {
		case !item.isList:
			l.words = append(l.words, []string{item.text})
		case len(item.list) == 0:
			return fmt.Errorf("a list of alternatives is empty")
		default:
			var alternatives []string
			for _, a := range item.list {
				if a.isList {
					return fmt.Errorf("alternatives are words")
				}
				if !slices.Contains(alternatives, a.text) {
					alternatives = append(alternatives, a.text)
				}
			}
			l.words = append(l.words, alternatives)
		}
	}
	if args["match"].isList || args["not_match"].isList {
		m.note("the examples of the rule at line %d are left out: write them under tests", at)
	}
	m.add(l)
	return nil
}

// host takes one host_executable: where a program may lie.
func (m *Import) host(args map[string]value) error {
	program, paths := args["name"].text, args["paths"].list
	if program == "" || !args["paths"].isList {
		return fmt.Errorf("host_executable needs a name and paths")
	}
	if len(paths) != 1 || !path.IsAbs(paths[0].text) || path.Clean(paths[0].text) != paths[0].text {
		m.note("host_executable %s is left out: a policy has one absolute path for a program", program)
		m.left(line{effect: deny, words: [][]string{{program}}, said: "host_executable " + program}, "several files may be meant")
		return nil
	}
	m.paths[program] = paths[0].text
	return nil
}

// A value is a word or a list.
type value struct {
	text   string
	list   []value
	isList bool
}

type scanner struct {
	text  string
	line  int
	depth int
}

// space skips what means nothing.
func (s *scanner) space() {
	for s.text != "" {
		switch s.text[0] {
		case '\n':
			s.line++
		case ' ', '\t', '\r', ';':
		case '#':
			end := strings.IndexByte(s.text, '\n')
			if end < 0 {
				end = len(s.text)
			}
			s.text = s.text[end:]
			continue
		default:
			return
		}
		s.text = s.text[1:]
	}
}

func (s *scanner) ident() string {
	n := 0
	for n < len(s.text) && (s.text[n] == '_' || s.text[n] >= 'a' && s.text[n] <= 'z' || s.text[n] >= 'A' && s.text[n] <= 'Z') {
		n++
	}
	word := s.text[:n]
	s.text = s.text[n:]
	return word
}

// take takes c if it is next.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.text == "" || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

func (s *scanner) call() (map[string]value, error) {
	if !s.take('(') {
		return nil, fmt.Errorf("there is no (")
	}
	args := map[string]value{}
	for !s.take(')') {
		s.space()
		key := s.ident()
		if key == "" || !s.take('=') {
			return nil, fmt.Errorf("arguments are given by name")
		}
		if _, twice := args[key]; twice {
			return nil, fmt.Errorf("%s is given twice", key)
		}
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		args[key] = v
		if !s.take(',') && (s.text == "" || s.text[0] != ')') {
			return nil, fmt.Errorf("want , or )")
		}
	}
	return args, nil
}

func (s *scanner) value() (value, error) {
	if s.take('[') {
		if s.depth++; s.depth > 4 {
			return value{}, fmt.Errorf("lists are too deep")
		}
		defer func() { s.depth-- }()
		v := value{isList: true}
		for !s.take(']') {
			one, err := s.value()
			if err != nil {
				return v, err
			}
			v.list = append(v.list, one)
			if !s.take(',') && (s.text == "" || s.text[0] != ']') {
				return v, fmt.Errorf("want , or ]")
			}
		}
		return v, nil
	}
	s.space()
	if s.text == "" || s.text[0] != '"' && s.text[0] != '\'' || strings.HasPrefix(s.text, `"""`) || strings.HasPrefix(s.text, "'''") {
		return value{}, fmt.Errorf("want a word in quotes or a list")
	}
	quote := s.text[0]
	var b strings.Builder
	for i := 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == quote:
			s.text = s.text[i+1:]
			return value{text: b.String()}, nil
		case c == '\n':
			return value{}, fmt.Errorf("a word ends with its line")
		case c == '\\':
			if i++; i == len(s.text) || strings.IndexByte(`\"'`, s.text[i]) < 0 {
				return value{}, fmt.Errorf("only \\\\, \\\" and \\' are known in words")
			}
			b.WriteByte(s.text[i])
		default:
			b.WriteByte(c)
		}
	}
	return value{}, fmt.Errorf("a word has no end")
}
