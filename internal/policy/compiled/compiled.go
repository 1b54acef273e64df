// Package compiled holds a policy file in the form in which it is asked: words
// are looked up, patterns parsed, rules compiled, defaults filled in.
//
// [Compile] makes a [File] out of a document, or tells every fault of it with its
// place; [Part] does so with what narrows another. Package layered puts them together.
//
// # Limits
//
// It judges no request: package policy does, and keeps a File to itself, since
// its parts are shared and must not be changed.
package compiled

import (
	"paddock"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/document/shape/table/reach"
	"paddock/internal/policy/compiled/environ"
	"paddock/internal/policy/compiled/pattern/program"
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
	Quotas      paddock.Quotas
	Approvals   paddock.Approvals
	Contain     paddock.ContainAs
	Secrets     []paddock.Injection
	Given       []paddock.Given
	Providers   map[string]*File // each judges the program that says the secret of that name
	Redact      paddock.Redaction
	Tests       []document.Test
	// Git judges what the git tools ask for; nil when there are none.
	Git *File
	// Delegates are the agents that may be given tasks; nil when there are none.
	Delegates *Delegates
	// Sections are the places of the top-level keys.
	Sections map[string]paddock.Position

	// Narrow are the parts that hold for some requests only.
	Narrow []Narrowing
	// Says has the keys of a part; nil for a whole policy, which says everything.
	Says map[string]bool
	// Barred are words of the policy that something narrower takes away.
	Barred map[string]Bar
	// Contradicts says why parts that hold at once can't; then nothing is allowed.
	Contradicts string

	byWord map[string]*Executable
	search string                    // the PATH that programs get
	pins   map[string]paddock.Digest // of executables that something narrower took away, too
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

// Variables builds into env, which is empty, the environment of e, or of all where e
// is nil, from nothing: the later beats the earlier, and what one executable says
// beats what is said for all. host holds what may be passed on; home and dir are left
// out if empty.
func (f *File) Variables(env *environ.Vars, e *Executable, host map[string]string, home, dir string) {
	env.Set("PATH", f.search)
	if home != "" {
		env.SetOwn("HOME", home)
	}
	withheld := f.Environment.Withheld
	if e != nil {
		withheld = e.Environment.Withheld
	}
	f.Environment.Add(env.Set, env.SetOwn, host, withheld)
	if e != nil {
		e.Environment.Add(env.Set, env.SetOwn, host, withheld)
	}
	if dir != "" {
		env.SetOwn("PWD", dir)
	}
	if f.Contain.Network == "allowlist" {
		environ.AddProxy(env, paddock.ProxyAddress)
	}
	if len(f.Secrets) > 0 && len(f.ContainFor(e, nil).Inject) > 0 {
		environ.AddCertificates(env, paddock.CertificatesPath)
	}
}

// ContainFor returns how runs of e are contained, or of all where e is nil, where
// account is what `run_as` stands for. Its lists are the file's.
func (f *File) ContainFor(e *Executable, account *paddock.Account) paddock.ContainAs {
	as := f.Contain
	as.Account = account
	if e != nil {
		as.Reach = e.Reach
		for _, s := range f.Secrets {
			if reach.Lists(e.Reach, s.Place) {
				as.Inject = append(as.Inject, s)
			}
		}
	}
	return as
}

// What is said of one program, and of variables.
type (
	Executable   = program.Executable
	ArgumentRule = program.ArgumentRule
	Environment  = program.Environment
	Rule         = celrule.Named // one of rules
)
