// Package learn proposes the smallest addition to a policy by which commands that
// were refused would be allowed.
//
// What is added allows the commands that were seen and no others: their words, letter
// by letter, and where several differ in one word only, the set of those words. What a
// rule refuses on purpose isn't learned, and neither is what was refused for more than
// its program or its arguments.
//
// # Limits
//
// At most [Most] commands are learned at once: no person reads more, and who asks chooses
// how many there are.
//
// It reads no journal and looks for no program: both are handed in. Whether what was
// asked for should be allowed is for a person to say; package lint knows some of what
// speaks against it.
package learn

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document/pin/grow"
	"paddock/internal/policy/compiled/layered"
	"paddock/internal/policy/compiled/pattern"
	"paddock/internal/policy/propose"
	"paddock/internal/policy/wellformed"
)

// Most is how many commands are learned at once.
const Most = 100

// Later is why the others aren't.
const Later = "others come first, which were asked for as often or more: write those, then learn again"

// A Command was refused.
type Command struct {
	Argv  []string
	Codes []paddock.Code
	// Times is how often, By who asked, each once.
	Times int
	By    []string
}

// A Lesson is a command and what becomes of it.
type Lesson struct {
	Argv  []string `json:"argv"`
	Times int      `json:"times"`
	By    []string `json:"by"`
	// Rule is the argument rule that will allow it; else Why says why none does.
	Rule string `json:"rule,omitempty"`
	Why  string `json:"why,omitempty"`
}

// A Proposal is a policy with what was learned.
type Proposal struct {
	Text    []byte   `json:"-"`
	Learned []Lesson `json:"learned"`
	Skipped []Lesson `json:"skipped"`
}

// Propose returns data, the content of the policy called name, with rules added for
// what of seen can be learned, what was asked for most often first where that is more
// than [Most]. find returns the absolute path of a program that may
// be called so, or why there is none.
func Propose(name string, data []byte, seen []Command, find func(word string) (path, problem string)) (Proposal, error) {
	file, faults := layered.Load(name, data)
	if len(faults) > 0 {
		return Proposal{}, fmt.Errorf("%s:%d:%d: %s", faults[0].At.File, faults[0].At.Line, faults[0].At.Column, faults[0].Message)
	}
	l := learner{file: file, find: find, paths: map[string]string{}, by: map[string][]Command{}}
	out := Proposal{Text: data, Learned: []Lesson{}, Skipped: []Lesson{}}
	if len(seen) > Most {
		seen = slices.SortedStableFunc(slices.Values(seen), func(a, b Command) int { return b.Times - a.Times })
	}
	taken := 0
	for _, c := range seen {
		why := Later
		if taken < Most {
			why = l.take(c)
		}
		if why != "" {
			out.Skipped = append(out.Skipped, Lesson{c.Argv, c.Times, c.By, "", why})
			continue
		}
		taken++
	}
	var programs []grow.Program
	for _, word := range l.words {
		one := grow.Program{Word: word}
		if file.Find([]string{word}) == nil {
			one.Word, one.Path = propose.Word(path.Base(word)), propose.Word(l.paths[word])
		} else {
			one.Word = file.Find([]string{word}).Word()
		}
		for _, form := range forms(l.by[word]) {
			one.Rules = append(one.Rules, form.rule)
			for _, c := range form.of {
				out.Learned = append(out.Learned, Lesson{c.Argv, c.Times, c.By, form.rule, ""})
			}
		}
		programs = append(programs, one)
	}
	if len(programs) == 0 {
		return out, nil
	}
	text, err := grow.Write(data, programs)
	if err != nil {
		return out, err
	}
	out.Text = text
	return out, proved(name, text, out.Learned)
}

type learner struct {
	file  compiled.File
	find  func(string) (string, string)
	words []string // the programs, in the order in which they were seen
	paths map[string]string
	by    map[string][]Command
}

// take sorts a command to its program, or says why it isn't learned.
func (l *learner) take(c Command) (why string) {
	if len(c.Argv) == 0 {
		return "it has no words"
	}
	if d := l.file.Delegates; d != nil && slices.Contains(d.Names, c.Argv[0]) && l.file.Find(c.Argv) == nil {
		return "an agent of the policy is called so, which `paddock delegate` gives tasks to; what is to be run as a command, too, is added by hand"
	}
	for _, code := range c.Codes {
		if code != paddock.ExecutableNotAllowed && code != paddock.ArgumentsNotAllowed {
			return "it was refused with " + string(code) + ", which no argument rule changes"
		}
	}
	for i, w := range c.Argv {
		if code, _ := wellformed.Word(i, w, compiled.DefaultArgBytes, false); code != "" {
			return "it has words that no rule is written for: " + string(code)
		}
	}
	word := c.Argv[0]
	if e := l.file.Find(c.Argv); e != nil {
		if why := stands(e, c.Argv[1:]); why != "" {
			return why
		}
		word = e.Word()
	} else if why := l.program(word); why != "" {
		return why
	}
	if !slices.Contains(l.words, word) {
		l.words = append(l.words, word)
	}
	l.by[word] = append(l.by[word], c)
	return ""
}

// stands says what the rules say of args already, if they do.
func stands(e *compiled.Executable, args []string) string {
	if e.Any {
		return "its arguments are allowed already"
	}
	for _, r := range e.Candidates(args) {
		switch m := r.Rule.Match(args, func(string) bool { return true }); {
		case m.OK && r.Deny:
			return fmt.Sprintf("a rule refuses it on purpose, at line %d", r.At.Line)
		case m.OK:
			return fmt.Sprintf("its arguments are allowed already, at line %d, where they are inside of a root", r.At.Line)
		}
	}
	return ""
}

const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"

// program finds the file of a word that isn't permitted.
func (l *learner) program(word string) string {
	if l.paths[word] != "" {
		return ""
	}
	base := path.Base(word)
	taken := func(w string) bool { return w != word && path.Base(w) == base }
	switch {
	case strings.Trim(base, wordLetters) != "" || base[0] == '-' || base[0] == '.':
		return "a program that is called so is better added by hand"
	case l.file.Find([]string{base}) != nil || slices.ContainsFunc(l.words, taken):
		return "another program is called " + base + " already"
	}
	file, problem := l.find(word)
	if problem != "" {
		return problem
	}
	l.paths[word] = file
	return ""
}

// A form is a rule and the commands that it is for.
type form struct {
	rule string
	of   []Command
}

// forms puts commands of one program together that differ in one word.
func forms(commands []Command) []form {
	left := slices.Clone(commands)
	var out []form
	for len(left) > 0 {
		best, at := []int{0}, -1
		for i := range left[0].Argv {
			if i == 0 || !settable(left[0].Argv[i]) {
				continue
			}
			alike := []int{0}
			for j := 1; j < len(left); j++ {
				if differOnly(left[0].Argv, left[j].Argv, i) && settable(left[j].Argv[i]) {
					alike = append(alike, j)
				}
			}
			if len(alike) > len(best) {
				best, at = alike, i
			}
		}
		one, rest := form{}, []Command(nil)
		for j, c := range left {
			if slices.Contains(best, j) {
				one.of = append(one.of, c)
			} else {
				rest = append(rest, c)
			}
		}
		one.rule = rule(one.of, at)
		out, left = append(out, one), rest
	}
	return out
}

func differOnly(a, b []string, i int) bool {
	return len(a) == len(b) && a[i] != b[i] && slices.Equal(a[1:i], b[1:i]) && slices.Equal(a[i+1:], b[i+1:])
}

// settable reports whether a word can stand in a set.
func settable(w string) bool {
	return w != "" && w == strings.TrimSpace(w) && !strings.ContainsAny(w, ",<>{}=") && w != "..."
}

// rule writes what allows exactly these commands, which differ in word at, if any do.
func rule(of []Command, at int) string {
	var tokens []string
	for i, w := range of[0].Argv[1:] {
		token := literal(w)
		if i+1 == at {
			var words []string
			for _, c := range of {
				if !slices.Contains(words, c.Argv[at]) {
					words = append(words, c.Argv[at])
				}
			}
			slices.Sort(words)
			token = "{" + strings.Join(words, ",") + "}"
		}
		tokens = append(tokens, propose.Word(token))
	}
	return "{allow: [" + strings.Join(tokens, ", ") + "]}"
}

// literal writes a word as a token that matches it and nothing else.
func literal(w string) string {
	if t, err := pattern.ParseToken(w); err == nil && slices.Equal(t.Literals(), []string{w}) {
		return w
	}
	return "=" + w
}

// proved holds the new text to what it is for.
func proved(name string, text []byte, learned []Lesson) error {
	if _, err := policy.Load(name, text); err != nil {
		return err
	}
	file, _ := layered.Load(name, text)
	for _, l := range learned {
		e := file.Find(l.Argv)
		if e == nil || !strings.HasPrefix(cmp.Or(stands(e, l.Argv[1:]), "refused"), "its arguments are allowed") {
			return fmt.Errorf("bug: what was added doesn't allow %q; add it by hand", l.Argv)
		}
	}
	return nil
}
