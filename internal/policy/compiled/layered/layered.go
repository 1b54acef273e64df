// Package layered makes one policy of a file, of those that it extends, and of the
// floor of the machine.
//
// One of the files is whole: it extends no other. Every other one, and every part
// that holds for some requests only, narrows it: what such a part says must allow,
// too, and what it doesn't say is left as it is. So nothing that a part says can
// allow what would be refused without it.
//
// # Limits
//
// Nothing is read here: the texts are handed in, in their order, by package lineage.
// The PATH that programs get is that of the whole policy, whatever is taken away.
package layered

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"paddock"
	"paddock/internal/policy/compiled"
)

// A Source is a text that belongs to a policy: what the one before it extends, or
// a floor.
type Source struct {
	Name  string
	Data  []byte
	Floor bool
	// Problem says in words why there is no text.
	Problem string
}

// Equal reports whether two sources say the same.
func (s Source) Equal(o Source) bool {
	return s.Name == o.Name && s.Floor == o.Floor && s.Problem == o.Problem && bytes.Equal(s.Data, o.Data)
}

// Bundle returns the text of a policy with all that belongs to it: its own text
// where there is nothing else.
func Bundle(name string, data []byte, more ...Source) []byte {
	if len(more) == 0 {
		return data
	}
	var b bytes.Buffer
	b.WriteString("# paddock policy bundle 1\n")
	for i, s := range append([]Source{{Name: name, Data: data}}, more...) {
		role := "extends"
		switch {
		case i == 0:
			role = "policy"
		case s.Floor:
			role = "floor"
		}
		fmt.Fprintf(&b, "# %s %d bytes of %q\n%s\n", role, len(s.Data), s.Name, s.Data)
	}
	return b.Bytes()
}

// Load reads and compiles data, the content of the file called name, with what
// belongs to it. It returns the policy or everything that is wrong with it.
func Load(name string, data []byte, more ...Source) (compiled.File, []compiled.Fault) {
	l := loader{}
	source, faults := compiled.Read(name, data)
	l.add(name, source, faults, false)
	last, at, text := source, name, data
	for _, s := range more {
		if s.Floor {
			continue
		}
		if compiled.Extended(at, text) != s.Name || s.Problem != "" {
			l.fault(last.Extends.At, "%s can't be extended: %s", s.Name, orElse(s.Problem, "it isn't the file that this one names"))
			return compiled.File{}, l.faults
		}
		last, faults = compiled.Read(s.Name, s.Data)
		at, text = s.Name, s.Data
		l.add(s.Name, last, faults, false)
	}
	if last.Extends.Given() {
		l.fault(last.Extends.At, "the file that this one extends wasn't read here")
	}
	for _, s := range more {
		switch {
		case !s.Floor:
		case s.Problem != "":
			l.fault(paddock.Position{File: s.Name, Line: 1, Column: 1}, "the floor of this machine can't be used: %s", s.Problem)
		default:
			floor, faults := compiled.ReadFloor(s.Name, s.Data)
			l.add(s.Name, floor, faults, true)
		}
	}
	f := l.compile()
	if len(l.faults) > 0 {
		return compiled.File{}, l.faults
	}
	f.Name, f.Tests, f.Digest = name, source.Tests, paddock.DigestOf(sha256.Sum256(Bundle(name, data, more...)))
	return f, nil
}

// Floor says everything that is wrong with data, the content of a floor called name.
func Floor(name string, data []byte) []compiled.Fault {
	source, faults := compiled.ReadFloor(name, data)
	_, faults = compiled.Part(name, source, faults)
	return faults
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

type layer struct {
	name   string
	source compiled.Document
	faults []compiled.Fault
	floor  bool
}

type loader struct {
	layers []layer // the policy, what it extends in turn, floors
	faults []compiled.Fault
}

func (l *loader) add(name string, source compiled.Document, faults []compiled.Fault, floor bool) {
	l.layers = append(l.layers, layer{name, source, faults, floor})
}

func (l *loader) fault(at paddock.Position, format string, args ...any) {
	l.faults = append(l.faults, compiled.Fault{At: at, Message: fmt.Sprintf(format, args...)})
}

// compile puts the layers together: the whole policy first, then what narrows it,
// from the inside out, and floors last.
func (l *loader) compile() compiled.File {
	base := len(l.layers) - 1
	for base > 0 && l.layers[base].floor {
		base--
	}
	var f compiled.File
	parts := make([]compiled.File, len(l.layers))
	for i, one := range l.layers {
		var faults []compiled.Fault
		if i == base {
			if f, faults = compiled.Compile(one.name, one.source, one.faults); len(faults) == 0 {
				f.Delegates, faults = delegates(one.name, one.source)
				faults = append(faults, scope(&f)...)
			}
		} else {
			parts[i], faults = compiled.Part(one.name, one.source, one.faults)
			if one.floor {
				asksAsFloor(&parts[i])
			}
		}
		l.faults = append(l.faults, faults...)
	}
	if len(l.faults) > 0 {
		return f
	}
	order := append(downwards(base), upwards(base+1, len(l.layers))...)
	for _, i := range order {
		narrow := slices.Concat(f.Narrow, parts[i].Narrow)
		var faults []compiled.Fault
		f, faults = Narrow(f, parts[i])
		f.Narrow = narrow
		l.faults = append(l.faults, faults...)
	}
	for _, n := range f.Narrow { // what can't be together with the rest is a fault now
		_, faults := Narrow(f, n.Part)
		l.faults = append(l.faults, faults...)
	}
	return f
}

func downwards(n int) []int {
	out := upwards(0, n)
	slices.Reverse(out)
	return out
}

func upwards(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// Narrow returns f as far as part allows it, too, or why the two can't be together.
func Narrow(f, part compiled.File) (compiled.File, []compiled.Fault) {
	n := narrowing{part: part, out: f}
	n.roots()
	n.contain(f.Contain)
	n.executables(f)
	n.environment()
	n.out.Limits = lower(f.Limits, part.Limits)
	if part.Concurrent > 0 {
		n.out.Concurrent = min(f.Concurrent, part.Concurrent)
	}
	n.out.Quotas = f.Quotas.Within(part.Quotas)
	n.out.Rules = slices.Concat(f.Rules, part.Rules)
	n.out.Sections = maps.Clone(f.Sections)
	for name, at := range part.Sections {
		if name != "version" && name != "extends" {
			n.out.Sections[name] = at
		}
	}
	n.git(f)
	n.delegates(f)
	n.providers(f)
	return n.out, n.faults
}

// narrowing is one part at work.
type narrowing struct {
	part   compiled.File
	out    compiled.File
	faults []compiled.Fault
}

func (n *narrowing) fault(section, format string, args ...any) {
	n.faults = append(n.faults, compiled.Fault{At: n.part.Sections[section], Message: fmt.Sprintf(format, args...)})
}

func (n *narrowing) roots() {
	if !n.part.Says["roots"] {
		return
	}
	n.out.Roots = within(n.out.Roots, n.part.Roots)
	if len(n.out.Roots) == 0 {
		n.fault("roots", "none of these lies inside of a root of the policy that this narrows, nor the other way round, so nothing could run")
	}
}

// within returns the directories that lie in one of each, in the order of inner.
func within(outer, inner []string) []string {
	out := []string{}
	for _, in := range inner {
		for _, o := range outer {
			both := ""
			switch {
			case compiled.Below(o, in):
				both = in
			case compiled.Below(in, o):
				both = o
			}
			if both != "" && !slices.Contains(out, both) {
				out = append(out, both)
			}
		}
	}
	return out
}

// environment takes away what the part doesn't pass on or accept.
func (n *narrowing) environment() {
	env := &n.out.Environment
	if n.part.Says["environment.pass"] {
		env.Withheld = withheld(env.Withheld, env.Pass, n.part.Environment.Pass)
	}
	if !n.part.Says["environment.accept"] {
		return
	}
	accept, also := maps.Clone(env.Accept), maps.Clone(env.Also)
	if also == nil {
		also = map[string][]token{}
	}
	for name := range env.Accept {
		if t, ok := n.part.Environment.Accept[name]; ok {
			also[name] = append(slices.Clone(also[name]), t)
		} else {
			delete(accept, name)
		}
	}
	env.Accept, env.Also = accept, also
}

// withheld adds those of pass that aren't allowed to what is withheld already.
func withheld(already, pass, allowed []string) []string {
	out := slices.Clone(already)
	for _, name := range pass {
		if !slices.Contains(allowed, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
