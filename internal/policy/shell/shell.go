// Package shell shows which argv arrays somebody probably meant who wrote a
// shell's line.
//
// # Limits
//
// What it returns is for a message. Nothing is decided by it, nothing it makes
// is run, and a line that needs a shell's work (expansion, redirection) is
// explained instead of imitated.
package shell

import (
	"errors"
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"paddock"
)

// Bounds of a suggestion.
const (
	maxLine  = 8 << 10
	maxArgvs = 16
	maxWords = 256
)

// Syntax says what in a program's word is a shell's, or "".
func Syntax(word string) string {
	for _, c := range word {
		switch {
		case c == '\r' || c == '\n' || c == '\u2028' || c == '\u2029' || c == '\u0085':
			return "a line break"
		case unicode.IsSpace(c):
			return "white space"
		case strings.ContainsRune(";&|<>$`\"'\\(){}*?[]!#", c):
			return "the shell's `" + string(c) + "`"
		case unicode.IsControl(c):
			return "a control character"
		}
	}
	switch name, _, assigns := strings.Cut(word, "="); {
	case strings.HasPrefix(word, "~"):
		return "the shell's `~`"
	case assigns && syntax.ValidName(name):
		return "an assignment, which is the shell's"
	}
	return ""
}

var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox"}

// IsShell reports whether argv is a shell that is given a line.
func IsShell(argv []string) bool {
	return len(argv) > 1 && slices.Contains(shells, path.Base(argv[0])) && Line(argv) != ""
}

// Line returns the line that a shell's argv carries, or "".
func Line(argv []string) string {
	for i, w := range argv[1:] {
		if len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.HasSuffix(w, "c") && i+2 < len(argv) {
			return argv[i+2]
		}
	}
	return ""
}

var operators = []string{"&&", "||", "|", "|&", ";", "&", ">", ">>", "<", "<<", "<<<", "2>", "2>>", "2>&1", "&>", ">&2", "1>&2"}

// HasOperators reports whether a word of argv is one of a shell's operators.
func HasOperators(argv []string) bool {
	return slices.ContainsFunc(argv, func(w string) bool { return slices.Contains(operators, w) })
}

// Quote makes the line in which the words of argv are words again and its
// operators are operators.
func Quote(argv []string) string {
	quoted := make([]string, len(argv))
	for i, w := range argv {
		quoted[i] = w
		if slices.Contains(operators, w) {
			continue
		}
		if q, err := syntax.Quote(w, syntax.LangBash); err == nil {
			quoted[i] = q
		}
	}
	return strings.Join(quoted, " ")
}

// Suggest reads a line as a shell would and returns the commands in it. The
// Note says what couldn't be carried over. It is nil when there is nothing
// useful to say.
func Suggest(line string) *paddock.Suggestion {
	if len(line) > maxLine {
		return &paddock.Suggestion{Note: "The line is too long to be read here. Send each command as an argv array of its own."}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return &paddock.Suggestion{Note: "The line can't be read as a shell's: " + reason(err) + ". Send each command as an argv array of its own."}
	}
	c := collector{}
	for _, s := range file.Stmts {
		c.statement(s)
	}
	if len(c.argvs) == 0 && len(c.notes) == 0 {
		return nil
	}
	return &paddock.Suggestion{Argvs: c.argvs, Note: strings.Join(c.notes, " ")}
}

func reason(err error) string {
	var parse syntax.ParseError
	if errors.As(err, &parse) {
		return parse.Text
	}
	return err.Error()
}

// collector gathers the commands of a line in their order.
type collector struct {
	argvs [][]string
	notes []string
}

func (c *collector) note(text string) {
	if !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

func (c *collector) statement(s *syntax.Stmt) {
	for range s.Redirs {
		c.note("Redirections are left out: output is kept and read with its own verb, and input is given as `stdin`.")
	}
	if s.Background {
		c.note("Every run can go on in the background; `&` isn't needed.")
	}
	if s.Negated {
		c.note("`!` is left out: read the exit status instead.")
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		c.call(cmd)
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			c.note("For a pipe, give the second command the first one's run as its `stdin`.")
		}
		c.statement(cmd.X)
		c.statement(cmd.Y)
	case *syntax.Block:
		c.statements(cmd.Stmts)
	case *syntax.Subshell:
		c.statements(cmd.Stmts)
	case nil:
	default:
		c.note("Loops, conditions and functions are the shell's; decide yourself which command comes next.")
	}
}

func (c *collector) statements(list []*syntax.Stmt) {
	for _, s := range list {
		c.statement(s)
	}
}

func (c *collector) call(cmd *syntax.CallExpr) {
	if len(cmd.Assigns) > 0 {
		c.note("Assignments are left out: ask for variables with `env`, if the policy accepts them.")
	}
	if len(cmd.Args) == 0 {
		return
	}
	if len(c.argvs) == maxArgvs || len(cmd.Args) > maxWords {
		c.note("There is more than is shown.")
		return
	}
	argv := make([]string, len(cmd.Args))
	for i, w := range cmd.Args {
		text, ok := plain(w.Parts, false)
		if !ok {
			c.note("A command with an expansion (such as $NAME, $(…) or *) is left out: write the words out.")
			return
		}
		argv[i] = text
	}
	if argv[0] == "cd" {
		c.note("`cd` is the shell's: give the directory as `cwd` of each command.")
		return
	}
	c.argvs = append(c.argvs, argv)
}

// plain returns the text of a word that a shell would pass on as it is.
func plain(parts []syntax.WordPart, quoted bool) (string, bool) {
	var b strings.Builder
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text, ok := unescape(p.Value, quoted)
			if !ok || !quoted && i == 0 && strings.HasPrefix(text, "~") {
				return "", false
			}
			b.WriteString(text)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, ok := plain(p.Parts, true)
			if !ok || p.Dollar {
				return "", false
			}
			b.WriteString(text)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape removes a shell's backslashes. Unquoted text in which a shell would
// look for files or alternatives isn't plain.
func unescape(s string, quoted bool) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			switch {
			case s[i] == '\n': // a line that goes on
			case quoted && !strings.ContainsRune("$`\"\\", rune(s[i])):
				b.WriteByte('\\')
				b.WriteByte(s[i])
			default:
				b.WriteByte(s[i])
			}
		case !quoted && strings.ContainsRune("*?[{", rune(c)):
			return "", false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
