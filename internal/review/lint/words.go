package lint

import (
	"fmt"
	"strings"

	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/pattern/language"
	"paddock/internal/review/lint/escape"
	"paddock/internal/review/lint/escape/tools"
)

// executable looks at one program: its file, its environment, its words.
func (l *linter) executable(source document.Executable, e *compiled.Executable) {
	at := "executables." + e.Word()
	l.ownFile(at, source, e)
	l.environment(at, source.Environment)
	l.longTime(at, source.Limits, source.LimitsAt)
	tool := tools.Find(e.Path)
	if e.PTY {
		l.add("L006", at, e.At, fmt.Sprintf("Who starts %s may ask for a terminal and type there whatever it then obeys.", e.Word()), nil)
	}
	if e.Any {
		if tool == nil {
			l.add("L002", at, e.ArgsAt, fmt.Sprintf("%s takes any arguments.", e.Word()), nil)
			return
		}
		var does []string
		for _, w := range tool.Ways {
			does = append(does, w.Does)
		}
		l.add("L001", at, e.ArgsAt, fmt.Sprintf("%s takes any arguments, and is %s: it %s.", e.Word(), article(tool.Kind), strings.Join(unique(does), "; it ")), nil)
		return
	}
	if err := l.words(at, e, tool); err != nil {
		l.add("L035", at, e.ArgsAt, fmt.Sprintf("The rules of %s couldn't be looked at: %v.", e.Word(), err), nil)
	}
}

// article puts a or an before a kind of tool.
func article(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}

func unique(words []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range words {
		if !seen[w] {
			out = append(out, w)
		}
		seen[w] = true
	}
	return out
}

// words looks at all commands that the argument rules allow.
func (l *linter) words(at string, e *compiled.Executable, tool *tools.Tool) error {
	var list language.List
	for _, r := range e.Rules() {
		list = append(list, language.Rule{Pattern: r.Rule, Deny: r.Deny})
	}
	if err := l.order(at, e, list); err != nil || tool == nil {
		return err
	}
	var spelled []string
	for _, r := range e.Rules() {
		for _, token := range r.Rule.Tokens() {
			if !r.Deny {
				spelled = append(spelled, token.Literals()...)
			}
		}
	}
	watches, apart := escape.Of(tool, spelled)
	space, err := language.New([]language.List{list}, language.Options{Apart: apart})
	if err != nil {
		return err
	}
	said := map[string]bool{} // one example for each thing that it does
	for _, w := range watches {
		if err := l.way(at, e, space, w, said); err != nil {
			return err
		}
	}
	return nil
}

// way looks for a command by which a tool gets out.
func (l *linter) way(at string, e *compiled.Executable, space *language.Space, w escape.Watch, said map[string]bool) error {
	return space.Search(w.Step, func(f language.Found) bool {
		if !space.Allowed(f, 0) || !w.Out(f) {
			return true
		}
		id := "L003"
		switch {
		case w.Way.Bare:
			id = "L005"
		case w.Way.Chosen():
			id = "L004"
		}
		rule := e.Rules()[f.Deciders[0]]
		if key := id + w.Does() + fmt.Sprint(rule.At); !said[key] {
			said[key] = true
			example := command(e, f)
			l.add(id, at, rule.At, fmt.Sprintf("%s allows `%s`: it %s.", rule.Form, strings.Join(example, " "), w.Does()), example)
		}
		return false
	})
}

func command(e *compiled.Executable, f language.Found) []string {
	argv := []string{e.Word()}
	for _, one := range f.Args {
		argv = append(argv, one.Word)
	}
	return argv
}

// order finds rules that never decide, and denials without effect or too late.
func (l *linter) order(at string, e *compiled.Executable, list language.List) error {
	rules := e.Rules()
	space, err := language.New([]language.List{list}, language.Options{})
	if err != nil {
		return err
	}
	decides, matters := make([]bool, len(list)), make([]bool, len(list))
	late := make([]*language.Found, len(list))
	err = space.Search(nil, func(f language.Found) bool {
		match := f.Matches[0]
		if len(match) == 0 {
			return true
		}
		decides[match[0]] = true
		if len(match) > 1 && !list[match[1]].Deny {
			matters[match[0]] = true // without it, this would be allowed
		}
		for _, i := range match {
			if list[i].Deny && space.Allowed(f, 0) && late[i] == nil {
				late[i] = &f
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	for i, r := range rules {
		switch {
		case late[i] != nil:
			example := command(e, *late[i])
			l.add("L032", at, r.At, fmt.Sprintf("It denies `%s`, which %s allows before it.", strings.Join(example, " "), rules[late[i].Deciders[0]].Form), example)
		case !decides[i]:
			l.add("L030", at, r.At, fmt.Sprintf("Rules before it decide all that %s would match.", r.Form), nil)
		case r.Deny && !matters[i] && r.Message == "":
			l.add("L031", at, r.At, fmt.Sprintf("Nothing else allows %s.", r.Form), nil)
		}
	}
	return nil
}

// ownFile looks at the program's file.
func (l *linter) ownFile(at string, source document.Executable, e *compiled.Executable) {
	for _, dir := range l.writable() {
		if within(e.Path, dir) {
			l.add("L011", at, source.Path.At, fmt.Sprintf("%s lies in %s, where programs can write.", e.Path, dir), nil)
			break
		}
	}
	p, known := l.facts.Programs[e.Path]
	switch {
	case !known:
	case p.Problem != "":
		l.add("L010", at, source.Path.At, strings.TrimSuffix(p.Problem, ".")+".", nil)
	case !p.Root && e.Pin == "":
		l.add("L012", at, source.Path.At, fmt.Sprintf("%s doesn't belong to root and isn't pinned.", e.Path), nil)
	}
}
