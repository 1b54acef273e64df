// Package diff says what a change of a policy changes: what is newly allowed, newly
// refused, and what is held less or more.
//
// Argument rules are compared as a whole and not by samples, see package language,
// and what is newly allowed is shown by a command, which the judge was asked about
// under both policies before it is shown.
//
// # Limits
//
// The machine is taken to be the same, and able to give every level of containment.
// What rules in CEL refuse isn't followed: where one is removed or changed, it is said
// that it can't be told. Whether a program does more with another value of a variable
// isn't known either.
package diff

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/layered"
	"paddock/internal/review/diff/agents"
	"paddock/internal/review/diff/change"
	"paddock/internal/review/diff/measure"
)

// What is said of a change, as package change has it.
type (
	Effect  = change.Effect
	Change  = change.Change
	Changes = change.Changes
)

// The effects.
const (
	Widened  = change.Widened
	Unclear  = change.Unclear
	Narrowed = change.Narrowed
	Changed  = change.Changed
)

// A Source is a policy's text and the name of its file.
type Source struct {
	Name string
	Data []byte
	// More is what belongs to the policy beside its file.
	More []policy.Source
}

// side is one of the two policies.
type side struct {
	policy *policy.Policy
	file   compiled.File
	source document.File
	rules  []document.Rule
}

func load(s Source) (side, error) {
	p, err := policy.Load(s.Name, s.Data, s.More...)
	if err != nil {
		return side{}, err
	}
	source, faults := document.Read(s.Name, s.Data)
	file, more := layered.Load(s.Name, s.Data, s.More...)
	if len(faults)+len(more) > 0 {
		return side{}, errors.New("bug: a policy that loads can't be read again")
	}
	out := side{p, file, source, source.Rules}
	for _, m := range s.More {
		read := document.Read
		if m.Floor {
			read = document.ReadFloor
		}
		further, _ := read(m.Name, m.Data)
		out.rules = append(out.rules, further.Rules...)
	}
	return out, nil
}

// section is the place of a section, or of the whole file.
func (s side) section(name string) paddock.Position {
	return cmp.Or(s.file.Sections[name], paddock.Position{File: s.file.Name, Line: 1, Column: 1})
}

// Compare returns what is other in after than in before: what widens first.
func Compare(before, after Source) (Changes, error) {
	o, err := load(before)
	if err != nil {
		return nil, err
	}
	n, err := load(after)
	if err != nil {
		return nil, err
	}
	d := differ{old: o, new: n, said: map[string]bool{}}
	d.executables()
	d.pins()
	d.roots()
	d.rules()
	d.environment()
	d.limits("limits", o.file.Limits, n.file.Limits, n.section("limits"))
	d.number("limits.concurrent", "runs at once", int64(o.file.Concurrent), int64(n.file.Concurrent), n.section("limits"))
	d.containment()
	d.writing()
	d.secrets()
	d.git()
	for _, c := range agents.Compare(o.file.Delegates, n.file.Delegates) {
		d.add([]Effect{Widened, Narrowed, Unclear}[c.Kind], c.At, n.section("delegates"), "%s", c.Text)
	}
	d.kept()
	d.sometimes()
	order := []Effect{Widened, Unclear, Narrowed, Changed}
	slices.SortStableFunc(d.changes, func(a, b Change) int {
		return slices.Index(order, a.Effect) - slices.Index(order, b.Effect)
	})
	return d.changes, nil
}

type differ struct {
	old, new side
	changes  Changes
	said     map[string]bool
}

func (d *differ) add(e Effect, at string, where paddock.Position, format string, args ...any) {
	c := Change{Effect: e, At: at, Position: where, Message: fmt.Sprintf(format, args...)}
	if key := string(e) + at + c.Message; !d.said[key] {
		d.said[key] = true
		d.changes = append(d.changes, c)
	}
}

// words are those that a policy accepts in argv[0].
func (s side) words() []string {
	var words []string
	for _, e := range s.file.Executables {
		for _, w := range []string{e.Word(), e.Path} {
			if s.file.Find([]string{w}) == e && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return words
}

func (d *differ) executables() {
	type pair struct{ old, new *compiled.Executable }
	seen := map[pair]bool{}
	for _, w := range d.new.words() {
		argv := []string{w}
		p := pair{d.old.file.Find(argv), d.new.file.Find(argv)}
		at := "executables." + p.new.Word()
		if seen[p] {
			continue
		}
		seen[p] = true
		if p.old == nil {
			d.add(Widened, at, p.new.At, "%s is permitted: %s.", w, p.new.Path)
			d.shown(w, &compiled.Executable{}, p.new)
			continue
		}
		d.executable(at, w, p.old, p.new)
	}
	gone := map[*compiled.Executable]bool{}
	for _, w := range d.old.words() {
		if e := d.old.file.Find([]string{w}); d.new.file.Find([]string{w}) == nil && !gone[e] {
			gone[e] = true
			d.add(Narrowed, "executables."+e.Word(), e.At, "%s isn't permitted any more.", w)
		}
	}
}

func (d *differ) executable(at, word string, o, n *compiled.Executable) {
	if o.Path != n.Path {
		d.add(Widened, at, n.At, "%s is another program: %s, before it was %s.", word, n.Path, o.Path)
	}
	if o.Word() != n.Word() && len(d.old.file.Rules) > 0 {
		d.add(Unclear, at, n.At, "It is called %s for rules, before it was %s; a rule that compares the name may hold no more.", n.Word(), o.Word())
	}
	d.arguments(at, word, o, n)
	d.number(at+".max_args", "words", int64(o.MaxArgs), int64(n.MaxArgs), n.At)
	d.number(at+".max_arg_bytes", "bytes of a word", o.MaxArgBytes, n.MaxArgBytes, n.At)
	d.either(at+".line_breaks", o.LineBreaks, n.LineBreaks, n.At, "Words may contain line breaks.", "Words may contain no line breaks any more.")
	d.either(at+".pty", o.PTY, n.PTY, n.At, "Callers may have a terminal, and type while it runs.", "Callers may have no terminal any more.")
	d.limits(at+".limits", o.Limits, n.Limits, n.LimitsAt)
	d.variables(at+".environment", o.Environment, n.Environment, n.At)
	if d.old.file.Contain.Network == "allowlist" && d.new.file.Contain.Network == "allowlist" {
		d.reach(at+".network", o.Reach, n.Reach, n.At)
	}
}

// either compares what is allowed or isn't.
func (d *differ) either(at string, o, n bool, where paddock.Position, more, less string) {
	switch {
	case n && !o:
		d.add(Widened, at, where, "%s", more)
	case o && !n:
		d.add(Narrowed, at, where, "%s", less)
	}
}

// reach compares what programs may reach.
func (d *differ) reach(at string, o, n []string, where paddock.Position) {
	for _, entry := range n {
		if !measure.Reached(o, entry) {
			d.add(Widened, at, where, "%s may be reached.", entry)
		}
	}
	for _, entry := range o {
		if !measure.Reached(n, entry) {
			d.add(Narrowed, at, where, "%s may not be reached any more.", entry)
		}
	}
}

// pins compares what each path is pinned to, as an interpreter too.
func (d *differ) pins() {
	o, n := d.old.file.Pins(), d.new.file.Pins()
	paths := d.new.file.Paths()
	for _, e := range d.old.file.Executables {
		if pin := o[e.Path]; pin != "" && n[e.Path] != pin {
			switch where := d.new.section("executables"); {
			case !slices.Contains(paths, e.Path):
				if len(paths) > 0 {
					d.add(Unclear, "executables."+e.Word(), where, "%s isn't pinned any more; scripts that it reads run with whatever it is.", e.Path)
				}
			case n[e.Path] == "":
				d.add(Widened, "executables."+e.Word(), where, "%s isn't pinned any more.", e.Path)
			default:
				d.add(Widened, "executables."+e.Word(), where, "%s is pinned to another content, %s.", e.Path, n[e.Path].Short())
			}
		}
	}
	for _, e := range d.new.file.Executables {
		if e.Pin != "" && o[e.Path] == "" && slices.Contains(d.old.file.Paths(), e.Path) {
			d.add(Narrowed, "executables."+e.Word(), e.At, "%s is pinned.", e.Path)
		}
		for _, was := range d.old.file.Executables {
			// Names that share a path have pins of their own.
			if was.Word() == e.Word() && was.Pin != "" && was.Pin != e.Pin && was.Path == e.Path && o[e.Path] == n[e.Path] {
				d.add(Widened, "executables."+e.Word(), e.At, "%s isn't pinned to what it was.", e.Word())
			}
		}
	}
}
