// Package migrate makes a policy of what other tools allow: the permissions of Claude
// Code's settings, and Codex's rules.
//
// What comes of it never allows a command that the source refuses or asks about. What
// can't be said exactly is left out, or makes what it is about be left out, and is told.
//
// # Limits
//
// The sources judge shell lines, a policy judges words: only lines that are plain words
// have a counterpart. What they say of files, addresses and tools of their own isn't
// about commands and is only told of. Programs are found elsewhere.
package migrate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"paddock/internal/policy"
	"paddock/internal/policy/compiled/pattern"
	"paddock/internal/policy/propose"
)

// most bounds a source; one that is longer is no settings file.
const most = 1 << 20

// An effect is what a source does with a command.
type effect string

const (
	allow effect = "allow"
	ask   effect = "ask"
	deny  effect = "deny"
)

// A line is one rule of a source: the words that a command begins with.
type line struct {
	effect effect
	// words are alternatives for each word, the program first.
	words [][]string
	// more is set when any words may follow, loose when the last word may go on, too.
	more, loose bool
	// needs is set when at least one word more must follow.
	needs bool
	said  string // as the source has it
	why   string // what whoever asks is told, where the source says it
}

// message writes what the source says to whoever asks, behind the lines of a rule.
func (l line) message(indent string) string {
	if l.why == "" {
		return ""
	}
	return "\n" + indent + "message: " + propose.Word(l.why)
}

// An Import is what was understood of a source.
type Import struct {
	lines []line
	// Notes tell what couldn't be said exactly.
	Notes []string
	paths map[string]string // of programs, where the source says them
}

func (m *Import) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`) })

// Policy returns the text of a policy for commands in root. find returns the path of
// an installed program; programs that it doesn't find are left out, and told of.
func (m *Import) Policy(root string, find func(name string) string) []byte {
	whole := Import{lines: m.lines, paths: m.paths, Notes: slices.Clone(m.Notes)}
	if _, err := policy.Load("", whole.text(root, find)); err != nil {
		m.sift()
	}
	return m.text(root, find)
}

func (m *Import) text(root string, find func(name string) string) []byte {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("# Made of the permissions of another tool. Read it, then: paddock policy check FILE")
	w("version: 1")
	w("roots:")
	w("  - path: %s", propose.Word(root))
	var tests []string
	entries := 0
	for _, program := range m.programs() {
		path := m.paths[program]
		if path == "" {
			path = find(program)
		}
		if path == "" {
			m.note("%s is left out: no such program is installed", program)
			continue
		}
		if entries++; entries == 1 {
			w("executables:")
		}
		w("  - name: %s", propose.Word(program))
		w("    path: %s", propose.Word(path))
		w("    args:")
		for _, l := range m.of(program, deny) {
			w("      - deny: [%s]%s", strings.Join(tokens(l), ", "), l.message("        "))
		}
		for _, l := range m.of(program, ask) { // a rule asks about each of these: see expression
			w("      - allow: [%s]", strings.Join(tokens(l), ", "))
		}
		for _, l := range m.of(program, allow) {
			w("      - allow: [%s]", strings.Join(tokens(l), ", "))
			if !l.needs && len(m.of(program, deny))+len(m.of(program, ask)) == 0 {
				tests = append(tests, "  - allow: ["+strings.Join(first(program, l), ", ")+"]")
			}
		}
	}
	if entries == 0 {
		w("executables: []")
	}
	if len(m.asks()) > 0 {
		m.note("what is asked about is refused until `approvals` of the policy lists who can approve it")
	}
	for i, l := range m.asks() {
		if i == 0 {
			w("rules:")
		}
		w("  - name: asked-%d", i+1)
		w("    ask: %s%s", propose.Word(expression(l)), l.message("    "))
	}
	w("environment: {pass: [LANG, LC_ALL, TZ, TERM]}")
	w("containment: {require: full, network: none}")
	if len(tests) > 0 {
		w("tests:")
		w("%s", strings.Join(tests, "\n"))
	}
	return []byte(b.String())
}

// programs are those with something to allow or to ask about, in the order of the source.
func (m *Import) programs() []string {
	var out []string
	for _, l := range m.lines {
		if l.effect == deny {
			continue
		}
		for _, program := range l.words[0] {
			switch {
			case slices.Contains(out, program):
			case m.whole(program):
				if said := program + " is left out: all of it, or something that can't be said here, is refused or asked about"; !slices.Contains(m.Notes, said) {
					m.note("%s", said)
				}
			case !name().MatchString(program):
				m.note("%s is left out: a program of that name is added by hand", program)
			default:
				out = append(out, program)
			}
		}
	}
	return out
}

// whole reports whether all of a program is denied, or something of it that can't be
// said in a policy.
func (m *Import) whole(program string) bool {
	return slices.ContainsFunc(m.lines, func(l line) bool {
		if l.effect == allow || len(l.words) > 1 {
			return false
		}
		return slices.ContainsFunc(l.words[0], func(w string) bool {
			return (w == program || l.loose && strings.HasPrefix(program, w)) && l.more && !l.needs
		})
	})
}

// of are the rules of one effect about a program.
func (m *Import) of(program string, e effect) []line {
	var out []line
	for _, l := range m.lines {
		if l.effect == e && slices.Contains(l.words[0], program) {
			out = append(out, l)
		}
	}
	return out
}

func (m *Import) asks() []line {
	var out []line
	for _, l := range m.lines {
		if l.effect == ask {
			out = append(out, l)
		}
	}
	return out
}

// tokens writes the words after the program as a rule has them.
func tokens(l line) []string {
	out := []string{}
	for i, alternatives := range l.words[1:] {
		switch {
		case l.loose && l.effect == deny && i == len(l.words)-2:
			quoted := make([]string, len(alternatives))
			for j, a := range alternatives {
				quoted[j] = regexp.QuoteMeta(a)
			}
			out = append(out, propose.Word("<re:(?s)(?:"+strings.Join(quoted, "|")+").*>"))
		case len(alternatives) == 1:
			out = append(out, propose.Word(literal(alternatives[0])))
		default:
			out = append(out, propose.Word("{"+strings.Join(alternatives, ",")+"}"))
		}
	}
	if l.needs && l.effect == allow {
		out = append(out, "<word>")
	}
	if l.more {
		out = append(out, "...")
	}
	return out
}

// first is a command that a rule allows.
func first(program string, l line) []string {
	out := []string{propose.Word(program)}
	for _, alternatives := range l.words[1:] {
		out = append(out, propose.Word(alternatives[0]))
	}
	return out
}

// literal writes a word as a token that matches it and nothing else.
func literal(w string) string {
	if t, err := pattern.ParseToken(w); err == nil && slices.Equal(t.Literals(), []string{w}) {
		return w
	}
	return "=" + w
}

// expression says in CEL which commands a rule is about.
func expression(l line) string {
	n := len(l.words)
	parts := []string{fmt.Sprintf("size(argv) >= %d", n)}
	if !l.more {
		parts[0] = fmt.Sprintf("size(argv) == %d", n)
	}
	for i, alternatives := range l.words {
		quoted := make([]string, len(alternatives))
		for j, a := range alternatives {
			quoted[j] = strconv.Quote(a)
		}
		subject := fmt.Sprintf("argv[%d]", i)
		if i == 0 {
			subject = "executable"
		}
		if l.loose && i == n-1 && i > 0 {
			for j, q := range quoted {
				quoted[j] = subject + ".startsWith(" + q + ")"
			}
			parts = append(parts, "("+strings.Join(quoted, " || ")+")")
			continue
		}
		parts = append(parts, subject+" in ["+strings.Join(quoted, ", ")+"]")
	}
	return strings.Join(parts, " && ")
}

// add takes a rule that is understood; one that no policy can hold is told of.
func (m *Import) add(l line) {
	for _, alternatives := range l.words {
		for _, w := range alternatives {
			switch {
			case w == "":
				m.left(l, "a word of it is empty")
			case strings.ContainsAny(w, "\n\r"):
				m.left(l, "a word of it has a line break, and no command with one is run")
			case strings.ContainsFunc(w, func(c rune) bool { return c < 0x20 || c == 0x7f }):
				m.left(l, "a word of it has a control character")
			case len(alternatives) > 1 && (strings.ContainsAny(w, ",<>{}") || w != strings.TrimSpace(w) || w == "..."):
				m.left(l, "a word of it can't stand beside others")
			default:
				continue
			}
			return
		}
	}
	m.lines = append(m.lines, l)
}

// sift leaves out what no policy can have, which is asked of each rule alone: what
// bounds there are is known where policies are read.
func (m *Import) sift() {
	for _, l := range slices.Clone(m.lines) {
		if err := alone(l); err != nil {
			m.lines = slices.DeleteFunc(m.lines, func(o line) bool { return o.effect == l.effect && o.said == l.said })
			m.left(l, err.Error())
		}
	}
}

// alone says why no policy can have a rule.
func alone(l line) error {
	one := Import{lines: []line{l}, paths: map[string]string{}}
	if l.effect == deny {
		one.lines = append(one.lines, line{effect: allow, words: l.words[:1]})
	}
	_, err := policy.Load("", one.text("/w", func(string) string { return "/p" }))
	var faults *policy.Errors
	if errors.As(err, &faults) && len(faults.List) > 0 {
		return errors.New(faults.List[0].Message)
	}
	return err
}

// left leaves a rule out. What it refuses or asks about must not be allowed for that,
// so nothing of the program is.
func (m *Import) left(l line, why string) {
	if l.effect == allow {
		m.note("%s is left out: %s", l.said, why)
		return
	}
	if len(l.words) == 0 || len(l.words[0]) == 0 {
		m.note("%s can't be said here: %s; so nothing is allowed", l.said, why)
		m.lines = slices.DeleteFunc(m.lines, func(o line) bool { return o.effect == allow })
		m.lines = append(m.lines, line{effect: deny, words: [][]string{{""}}, more: true, loose: true, said: l.said})
		return
	}
	m.note("%s can't be said here: %s; so nothing of %s is allowed", l.said, why, strings.Join(l.words[0], ", "))
	m.lines = append(m.lines, line{effect: deny, words: l.words[:1], more: true, loose: true, said: l.said})
}
