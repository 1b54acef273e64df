package learn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/pin/shrink"
	"paddock/internal/policy/compiled/layered"
)

// mostForms is how many rules are written in the place of `any`: past that it isn't
// narrow any more, and says nothing to a person.
const mostForms = 40

// mostCommands is how many commands are put together to rules.
const mostCommands = 2000

// A Use is a command that was run.
type Use struct {
	// Argv is nil where it isn't known to the last word; then Program is kept as it is.
	Argv []string
	// Program is the path of the file that was run.
	Program string
}

// A Narrowing is what no run needed.
type Narrowing struct {
	At       string           `json:"at"`
	Position paddock.Position `json:"position"`
	Message  string           `json:"message"`
}

// A Narrowed is a policy without what no run needed.
type Narrowed struct {
	Text     []byte      `json:"-"`
	Narrowed []Narrowing `json:"narrowed"`
	Kept     []Narrowing `json:"kept"` // what could not be told
}

// Narrow returns data, the content of the policy called name, without the programs and
// the argument rules that none of used needed, and with what was used in the place of
// `any`. Rules that refuse stay, since what is behind them could be let through by
// others; and so does what a test of the policy demands. It allows nothing that the
// policy didn't: that is for the caller to check, by package diff.
func Narrow(name string, data []byte, used []Use) (Narrowed, error) {
	out := Narrowed{Text: data, Narrowed: []Narrowing{}, Kept: []Narrowing{}}
	whole, err := policy.Load(name, data)
	if err != nil {
		return out, err
	}
	file, faults := layered.Load(name, data)
	source, more := document.Read(name, data)
	if len(faults)+len(more) > 0 || len(file.Executables) != len(source.Executables) {
		return out, errors.New("bug: a policy that loads has faults")
	}
	for _, t := range whole.Tests() {
		if !t.Refuse {
			used = append(used, Use{Argv: t.Argv})
		}
	}
	var cuts []shrink.Cut
	left := 0
	for i, e := range file.Executables {
		cut, says := needed(e, used, out.keep)
		if cut.All || cut.Any != nil || cut.Rules != nil {
			cut.Program = i
			cuts = append(cuts, cut)
			out.Narrowed = append(out.Narrowed, says...)
		}
		if !cut.All {
			left++
		}
	}
	if left == 0 || len(cuts) == 0 {
		out.Narrowed = []Narrowing{} // a policy that allows nothing isn't what was learned
		return out, nil
	}
	if out.Text, err = shrink.Write(data, cuts); err != nil {
		return out, err
	}
	return out, still(name, data, out.Text, used)
}

func (n *Narrowed) keep(one Narrowing) { n.Kept = append(n.Kept, one) }

// needed says what of e none of used needed.
func needed(e *compiled.Executable, used []Use, keep func(Narrowing)) (shrink.Cut, []Narrowing) {
	at := "executables." + e.Word()
	var commands []Command
	known := map[string]bool{}
	for _, u := range used {
		switch {
		case u.Argv == nil && u.Program == e.Path:
			keep(Narrowing{at, e.At, "it stays as it is: of one of its runs the arguments aren't known to the last word"})
			return shrink.Cut{}, nil
		case len(u.Argv) > 0 && (u.Argv[0] == e.Word() || u.Argv[0] == e.Path):
			argv := slices.Concat([]string{e.Word()}, u.Argv[1:])
			if key := strings.Join(argv, "\x00"); !known[key] {
				known[key] = true
				commands = append(commands, Command{Argv: argv})
			}
		}
	}
	if len(commands) == 0 {
		return shrink.Cut{All: true}, []Narrowing{{at, e.At, "no run used it"}}
	}
	if e.Any {
		var rules []form
		if len(commands) <= mostCommands {
			rules = forms(commands)
		}
		if n := len(rules); n > mostForms || n == 0 {
			keep(Narrowing{at, e.ArgsAt, fmt.Sprintf("`any` stays: what was used takes more than %d rules", mostForms)})
			return shrink.Cut{}, nil
		}
		var text []string
		for _, f := range rules {
			text = append(text, f.rule)
		}
		return shrink.Cut{Any: text}, []Narrowing{{at + ".args", e.ArgsAt, fmt.Sprintf("`any` becomes what was used, in %d rule(s)", len(text))}}
	}
	var cut shrink.Cut
	var says []Narrowing
	for i, r := range e.Rules() {
		reached := slices.ContainsFunc(commands, func(c Command) bool {
			return r.Rule.Match(c.Argv[1:], func(string) bool { return true }).OK
		})
		if r.Deny || reached {
			continue
		}
		cut.Rules = append(cut.Rules, i)
		says = append(says, Narrowing{fmt.Sprintf("%s.args.%d", at, i+1), r.At, "no run used " + r.Form})
	}
	if len(cut.Rules) == len(e.Rules()) { // what ran was allowed by rules that were there then
		keep(Narrowing{at, e.At, "it stays as it is: its runs were allowed by rules that aren't there any more"})
		return shrink.Cut{}, nil
	}
	return cut, says
}

// still holds the new text to what it must go on to allow.
func still(name string, before, after []byte, used []Use) error {
	if _, err := policy.Load(name, after); err != nil {
		return fmt.Errorf("without what isn't used it isn't a policy any more: %w; take it out by hand", err)
	}
	was, _ := layered.Load(name, before)
	is, _ := layered.Load(name, after)
	for _, u := range used {
		if len(u.Argv) == 0 || !allowed(was, u.Argv) {
			continue
		}
		if !allowed(is, u.Argv) {
			return fmt.Errorf("bug: %q isn't allowed without what isn't used; take it out by hand", u.Argv)
		}
	}
	return nil
}

func allowed(file compiled.File, argv []string) bool {
	e := file.Find(argv)
	return e != nil && strings.HasPrefix(stands(e, argv[1:]), "its arguments are allowed")
}
