// Package compiled holds a policy file in the form in which it is asked: words
// are looked up, patterns parsed, rules compiled, defaults filled in.
//
// [Load] makes a [File] out of text, or tells every fault of it with its place.
//
// # Limits
//
// It judges no request: package policy does, and keeps a File to itself, since
// its parts are shared and must not be changed.
package compiled

import (
	"fmt"
	"maps"
	"slices"

	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/reach"
	"paddock/internal/policy/compiled/environ"
	"paddock/internal/policy/compiled/pattern"
	celrule "paddock/internal/policy/compiled/rule"
)

// A File is a compiled policy file. The zero File permits no word.
type File struct {
	Name        string
	Digest      paddock.Digest
	Roots       []string
	Executables []*Executable
	Rules       []Rule
	Environment Environment
	Limits      paddock.Limits
	Concurrent  int
	Reserve     int64 // zero means the default
	Retention   paddock.Retention
	Contain     paddock.ContainAs
	Secrets     []paddock.Injection
	Tests       []document.Test
	// Git judges what the git tools ask for; nil when there are none.
	Git *File
	// Sections are the places of the top-level keys.
	Sections map[string]paddock.Position

	byWord map[string]*Executable
	search string // the PATH that programs get
}

// Find returns the executable that the command's first word stands for, by exact
// comparison; nil when there is none.
func (f *File) Find(argv []string) *Executable {
	if len(argv) == 0 {
		return nil
	}
	return f.byWord[argv[0]]
}

// Words returns the words accepted in argv[0], in file order: the name of each
// executable, or its path where it has no name.
func (f *File) Words() []string {
	words := make([]string, len(f.Executables))
	for i, e := range f.Executables {
		words[i] = e.Word()
	}
	return words
}

// Paths returns the absolute paths of the executables, in file order.
func (f *File) Paths() []string {
	paths := make([]string, len(f.Executables))
	for i, e := range f.Executables {
		paths[i] = e.Path
	}
	return paths
}

// Variables builds the environment of e, or of all where e is nil, from nothing:
// the later beats the earlier, and what one executable says beats what is said
// for all. host holds what may be passed on; home and dir are left out if empty.
func (f *File) Variables(e *Executable, host map[string]string, home, dir string) map[string]string {
	env := map[string]string{"PATH": f.search}
	if home != "" {
		env["HOME"] = home
	}
	f.Environment.add(env, host)
	if e != nil {
		e.Environment.add(env, host)
	}
	if dir != "" {
		env["PWD"] = dir
	}
	if f.Contain.Network == "allowlist" {
		environ.AddProxy(env, paddock.ProxyAddress)
	}
	if len(f.ContainFor(e, nil).Inject) > 0 {
		environ.AddCertificates(env, paddock.CertificatesPath)
	}
	return env
}

// ContainFor returns how runs of e are contained, or of all where e is nil, where
// account is what `run_as` stands for.
func (f *File) ContainFor(e *Executable, account *paddock.Account) paddock.ContainAs {
	as := f.Contain
	as.Account = account
	if e != nil {
		as.Reach = slices.Clone(e.Reach)
		for _, s := range f.Secrets {
			if reach.Lists(e.Reach, s.Place) {
				as.Inject = append(as.Inject, s)
			}
		}
	}
	return as
}

// An Executable is a program of the policy.
type Executable struct {
	At   paddock.Position
	Name string // empty when only the path is accepted
	Path string
	Pin  paddock.Digest // empty unless pinned
	// Any is set when all arguments are allowed; else Forms shows those that are.
	Any         bool
	Forms       []string
	ArgsAt      paddock.Position
	Environment Environment
	Limits      paddock.Limits
	LimitsAt    paddock.Position
	// Reach is what runs may reach where the network is an allowlist.
	Reach       []string
	LineBreaks  bool
	MaxArgBytes int64
	MaxArgs     int

	args []ArgumentRule
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

// index sorts the argument rules by their first word.
func (x *Executable) index() {
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

// A Rule is a CEL rule: it denies, or asks for a person's approval.
type Rule struct {
	At      paddock.Position
	Name    string
	Ask     bool
	Rule    *celrule.Rule
	Message string
}

// Refusal is the rule's answer, in its own words where it has some.
func (r *Rule) Refusal(code paddock.Code, verb string) *paddock.Refusal {
	message := r.Message
	if message == "" {
		message = fmt.Sprintf("Rule `%s` %s this request.", r.Name, verb)
	}
	refusal := paddock.Refused(code, "%s", message)
	refusal.Rule = r.Name
	return refusal
}

// An Environment says which variables programs get. Accept, what callers may
// set, is only of the whole file.
type Environment struct {
	Set    []document.Pair
	Pass   []string
	Accept map[string]pattern.Token
}

// Accepted returns the names that callers may set, sorted.
func (e Environment) Accepted() []string { return slices.Sorted(maps.Keys(e.Accept)) }

func (e Environment) add(env, host map[string]string) {
	for _, name := range e.Pass {
		if value, ok := host[name]; ok {
			env[name] = value
		}
	}
	for _, pair := range e.Set {
		env[pair.Name.Value] = pair.Value.Value
	}
}
