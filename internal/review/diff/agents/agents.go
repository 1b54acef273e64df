// Package agents says what is other in the agents that two policies let be started.
//
// # Limits
//
// What their programs may is compared as for any program, by package diff, where it
// is of the policy as a whole: rules, limits, containment.
package agents

import (
	"fmt"
	"slices"

	"paddock/internal/policy/compiled"
)

// A Kind says in which direction a change goes.
type Kind int

// The kinds.
const (
	Wider Kind = iota
	Narrower
	Unclear
)

// A Change is one.
type Change struct {
	Kind     Kind
	At, Text string
}

// Compare returns what is other in n than in o; nil is a policy without the section.
func Compare(o, n *compiled.Delegates) (out []Change) {
	add := func(kind Kind, at, format string, args ...any) {
		out = append(out, Change{kind, at, fmt.Sprintf(format, args...)})
	}
	if o != nil && !o.Agents {
		o = nil
	}
	if n != nil && !n.Agents {
		n = nil
	}
	before, after := programs(o), programs(n)
	for _, name := range names(n) {
		was, is := before[name], after[name]
		at := "delegates.providers." + name
		switch {
		case was == nil:
			add(Wider, at, "Tasks may be given to %s, which is %s.", name, is.Path)
		case was.Path != is.Path || !slices.Equal(o.Args[name], n.Args[name]):
			add(Wider, at, "%s is another program, or has other words: %s, before it was %s.", name, is.Path, was.Path)
		case was.Pin != is.Pin || was.Limits != is.Limits || !slices.Equal(was.Reach, is.Reach) ||
			!slices.Equal(was.Environment.Set, is.Environment.Set) || !slices.Equal(was.Environment.Pass, is.Environment.Pass):
			add(Unclear, at, "%s has another content, other limits, places that it may reach or variables.", name)
		}
	}
	if o != nil && n != nil {
		out = append(out, tools(o, n)...)
	}
	for _, name := range names(o) {
		if after[name] == nil {
			add(Narrower, "delegates.providers."+name, "No task may be given to %s any more.", name)
		}
	}
	if o == nil || n == nil {
		return out
	}
	for _, x := range []struct {
		at, text string
		was, is  int64
	}{
		{"delegates.concurrent", "delegates at once", int64(o.Concurrent), int64(n.Concurrent)},
		{"delegates.depth", "levels of delegates", int64(o.Depth), int64(n.Depth)},
	} {
		switch {
		case x.is > x.was:
			add(Wider, x.at, "There may be %d %s, before %d.", x.is, x.text, x.was)
		case x.is < x.was:
			add(Narrower, x.at, "There may be %d %s, before %d.", x.is, x.text, x.was)
		}
	}
	return out
}

func names(d *compiled.Delegates) []string {
	if d == nil {
		return nil
	}
	return d.Names
}

func programs(d *compiled.Delegates) map[string]*compiled.Executable {
	out := map[string]*compiled.Executable{}
	if d != nil {
		for _, x := range d.File.Executables {
			out[x.Word()] = x
		}
	}
	return out
}

// tools compares those of the providers that both have.
func tools(o, n *compiled.Delegates) (out []Change) {
	beyond := func(kind Kind, name, text string, all, known []string) {
		for _, tool := range all {
			if !slices.Contains(known, tool) {
				out = append(out, Change{kind, "delegates.providers." + name + ".tools", fmt.Sprintf(text, name, tool)})
			}
		}
	}
	for _, name := range n.Names {
		if slices.Contains(o.Names, name) {
			beyond(Wider, name, "%s has the tool %s.", n.Tools[name], o.Tools[name])
			beyond(Narrower, name, "%s has the tool %s no more.", o.Tools[name], n.Tools[name])
		}
	}
	return out
}
