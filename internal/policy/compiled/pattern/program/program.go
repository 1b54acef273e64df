// Package program has what a policy says of one program: which file it is, which
// arguments it may get, and in which environment.
//
// # Limits
//
// It holds what was compiled elsewhere and judges no request.
package program

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"paddock"
	"paddock/internal/policy/compiled/pattern"
)

// An Executable is a program of the policy.
type Executable struct {
	At   paddock.Position
	Name string // empty when only the path is accepted
	Path string
	Pin  paddock.Digest // empty unless pinned
	// Any is set when all arguments are allowed.
	Any         bool
	ArgsAt      paddock.Position
	Environment Environment
	Limits      paddock.Limits
	LimitsAt    paddock.Position
	// Reach is what runs may reach where the network is an allowlist.
	Reach       []string
	LineBreaks  bool
	PTY         bool // a caller may ask for a terminal
	MaxArgBytes int64
	MaxArgs     int

	// Layers are the entries whose argument rules must all allow, the policy's own
	// first; nil when there is only this one.
	Layers []*Executable

	args  []ArgumentRule
	forms *forms
	// first holds, in order, the rules whose first word is the literal key;
	// other those that aren't so bound.
	first map[string][]*ArgumentRule
	other []*ArgumentRule
}

// Word returns how callers name the executable.
func (x *Executable) Word() string {
	if x.Name != "" {
		return x.Name
	}
	return x.Path
}

// Rules returns the argument rules, in file order.
func (x *Executable) Rules() []ArgumentRule { return slices.Clone(x.args) }

// Asked returns the entries whose argument rules must all allow.
func (x *Executable) Asked() []*Executable {
	if x.Layers == nil {
		return []*Executable{x}
	}
	return x.Layers
}

// Layer returns the i-th of Asked.
func (x *Executable) Layer(i int) *Executable {
	if x.Layers == nil {
		return x
	}
	return x.Layers[i]
}

// SetRules gives the executable its argument rules.
func (x *Executable) SetRules(rules []ArgumentRule) {
	x.args, x.forms = rules, &forms{}
	x.first = map[string][]*ArgumentRule{}
	for i := range x.args {
		r := &x.args[i]
		r.order = i
		if r.Rule == nil {
			continue // its faults are reported
		}
		if word, ok := r.Rule.First(); ok {
			x.first[word] = append(x.first[word], r)
		} else {
			x.other = append(x.other, r)
		}
	}
}

// Candidates returns the rules that can match args, in order.
func (x *Executable) Candidates(args []string) []*ArgumentRule {
	if len(args) == 0 || x.first[args[0]] == nil {
		return x.other
	}
	first, other := x.first[args[0]], x.other
	if len(other) == 0 {
		return first
	}
	merged := slices.Concat(first, other)
	slices.SortFunc(merged, func(a, b *ArgumentRule) int { return a.order - b.order })
	return merged
}

// An ArgumentRule allows or denies a form of arguments.
type ArgumentRule struct {
	At      paddock.Position
	Deny    bool
	Rule    *pattern.Rule
	Message string // of a deny rule, if it has one
	// Form is how messages show the rule, Allowed the detail of a pass.
	Form, Allowed string
	order         int // among the rules of its executable
}

// Refusal is the answer of a deny rule that matches, in its own words where it
// has some.
func (r *ArgumentRule) Refusal() *paddock.Refusal {
	message := r.Message
	if message == "" {
		message = fmt.Sprintf("The policy refuses these arguments: %s.", r.Form)
	}
	refusal := paddock.Refused(paddock.ArgumentsNotAllowed, "%s", message)
	refusal.Hint = "A rule of the policy refuses this form on purpose. Use another form, or ask the operator."
	return refusal
}

// Forms says that no rule matches, and which arguments are allowed, by list: of 500 rules that is so long that
// it is said once for all who hear it.
func (x *Executable) Forms(list func([]string) string) string {
	f := x.forms
	if f == nil { // it has no rules, either
		f = &forms{}
	}
	f.once.Do(func() {
		var allowed []string
		for i := range x.args {
			if !x.args[i].Deny {
				allowed = append(allowed, x.args[i].Form)
			}
		}
		f.said = "No rule allows these arguments. Allowed: " + list(allowed) + "."
	})
	return f.said
}

type forms struct {
	once sync.Once
	said string
}

// PinOf returns what the first of all with the path that is pinned is pinned to.
func PinOf(all []*Executable, path string) paddock.Digest {
	for _, x := range all {
		if x.Pin != "" && x.Path == path {
			return x.Pin
		}
	}
	return ""
}

// Nearest keeps the rule that came nearest to allowing: the first that only misses a
// path, else the first that understood most words.
type Nearest struct {
	Rule  *ArgumentRule
	Match pattern.Match
}

// Take keeps r, of which m is what it says, if it came nearer.
func (n *Nearest) Take(r *ArgumentRule, m pattern.Match) {
	if !n.Match.OK && (m.OK || m.At > n.Match.At) {
		n.Rule, n.Match = r, m
	}
}

// A Variable is one with a fixed value.
type Variable struct{ Name, Value string }

// An Environment says which variables programs get. Accept, what callers may
// set, is only of the whole file.
type Environment struct {
	Set    []Variable
	Pass   []string
	Accept map[string]pattern.Token
	// Also are tokens that values must match, too; Withheld are names of Pass, the
	// file's and the executable's, that something narrower doesn't pass on.
	Also     map[string][]pattern.Token
	Withheld []string
}

// Accepted returns the names that callers may set, sorted.
func (e Environment) Accepted() []string { return slices.Sorted(maps.Keys(e.Accept)) }

// Add sets the variables; host holds what may be passed on, by pass, but for what
// is withheld.
func (e *Environment) Add(set, pass func(name, value string), host map[string]string, withheld []string) {
	for _, name := range e.Pass {
		if value, ok := host[name]; ok && !slices.Contains(withheld, name) {
			pass(name, value)
		}
	}
	for _, pair := range e.Set {
		set(pair.Name, pair.Value)
	}
}

// AcceptOnly has callers set the variables of these names, each to one word, and no
// other.
func (e *Environment) AcceptOnly(names ...string) {
	word, err := pattern.ParseToken("<word>")
	if err != nil {
		panic("paddock: bug: " + err.Error()) // of a constant, so every test sees it
	}
	e.Accept = map[string]pattern.Token{}
	for _, name := range names {
		e.Accept[name] = word
	}
}
