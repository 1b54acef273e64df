// Package policy reads policy files and judges requests by them.
//
// [Load] turns the text of a policy into a compiled, immutable [Policy] or into
// every error it has, each with its place. [Decide] judges one request: it is a
// pure function of the policy, the request and the [Facts] that somebody else
// looked up, so explaining and running can't differ.
//
// # Limits
//
// Nothing here reads a disk, a clock, an environment or a network, and nothing
// is executed: the caller resolves paths and hands in facts. A path rule is a
// check of intent; only containment is a boundary.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"paddock"
	"paddock/internal/policy/allowance"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/secret"
	"paddock/internal/policy/wellformed/phrase"
)

// A Policy is a compiled policy file. It is immutable and safe for concurrent
// use. The zero Policy allows nothing.
type Policy struct {
	file  compiled.File
	tests []Test
	// forms are the forms that each executable allows, as messages list them.
	forms map[*compiled.Executable]string
}

// Load parses and compiles data, the content of the file called name. When
// anything is wrong the error is an [*Errors] that lists all of it.
func Load(name string, data []byte) (*Policy, error) {
	file, faults := compiled.Load(name, data)
	if len(faults) > 0 {
		errs := &Errors{}
		for _, f := range faults {
			errs.List = append(errs.List, Error{f.At, f.Message})
		}
		return nil, errs
	}
	p := &Policy{file: file, forms: make(map[*compiled.Executable]string, len(file.Executables))}
	for _, e := range file.Executables {
		p.forms[e] = phrase.List(e.Forms)
	}
	for _, t := range file.Tests {
		p.tests = append(p.tests, Test{t.At, t.Argv, t.Dir, t.Refuse, t.Code})
	}
	return p, nil
}

// For returns the policy that judges what room asks for: p itself for the caller's
// own commands, where room is empty, and nil where p says nothing of it.
func (p *Policy) For(room string) *Policy {
	switch {
	case room == "":
		return p
	case room == "git" && p.file.Git != nil:
		return &Policy{file: *p.file.Git}
	}
	return nil
}

// Digest returns the SHA-256 of the file's bytes.
func (p *Policy) Digest() paddock.Digest { return p.file.Digest }

// Name returns the file name given to Load.
func (p *Policy) Name() string { return p.file.Name }

// Roots returns the absolute paths where commands may run, in file order.
func (p *Policy) Roots() []string { return slices.Clone(p.file.Roots) }

// Words returns the words accepted in argv[0], in file order: the name of each
// executable, or its path where it has no name.
func (p *Policy) Words() []string { return p.file.Words() }

// Executables returns the absolute paths that the policy names, in file order.
func (p *Policy) Executables() []string { return p.file.Paths() }

// Concurrent returns the most runs of one principal at once.
func (p *Policy) Concurrent() int { return p.file.Concurrent }

// Reserve returns how many bytes of a disk of size stay free.
func (p *Policy) Reserve(size int64) int64 { return allowance.Reserve(p.file.Reserve, size) }

// Retention says what is kept of runs in the policy's roots that are over.
func (p *Policy) Retention() paddock.Retention { return p.file.Retention }

// Contain returns how every run is contained.
func (p *Policy) Contain() paddock.ContainAs { return p.file.Contain }

// Secrets returns the secrets that requests of runs may carry, by name.
func (p *Policy) Secrets() []paddock.Injection { return slices.Clone(p.file.Secrets) }

// Tests returns the policy's own tests, in file order.
func (p *Policy) Tests() []Test { return slices.Clone(p.tests) }

// A Test is a command and what the policy must say of it.
type Test struct {
	Position paddock.Position
	Argv     []string
	// Dir is where the command would run; empty means the first root.
	Dir string
	// Refuse is set when the command must be refused, with Code if that is set.
	Refuse bool
	Code   paddock.Code
}

// Problem says how d differs from what the test demands; "" means not at all.
func (t Test) Problem(d paddock.Decision) string {
	r := d.Refusal()
	switch {
	case !t.Refuse && r != nil:
		return fmt.Sprintf("want it allowed, but it is refused: %v", r)
	case t.Refuse && r == nil:
		return "want it refused, but it is allowed"
	case t.Refuse && t.Code != "" && r.Code != t.Code:
		return fmt.Sprintf("want it refused with %s, but it is refused with %v", t.Code, r)
	}
	return ""
}

// Schema returns the JSON Schema that docs/policy.schema.json holds.
func Schema() []byte { return document.Schema() }

// Wanted lists what Decide must know of the machine to judge req.
type Wanted struct {
	// Executable is the policy's absolute path for argv[0]; empty if the word
	// isn't permitted. Pinned asks for its digest.
	Executable string
	Pinned     bool
	Pins       map[string]paddock.Digest // of every pinned path: scripts lead to others
	// Paths are arguments that a rule may have to take as paths inside a root.
	Paths []string
	// HostEnv names the variables that the policy passes on from the host.
	HostEnv []string
	// Secrets are the policy's, each with its file and where it goes.
	Secrets []paddock.Injection
}

// Facts is what was found on the machine for one request. The zero value of
// each field is the answer that allows least.
type Facts struct {
	// PolicyProblem says why there is no policy, when there is none.
	PolicyProblem *paddock.Refusal
	Executable    ExecutableFacts
	Dir           DirFacts
	// Paths maps each of Wanted.Paths to what it leads to.
	Paths map[string]PathFacts
	Stdin StdinFacts
	// HostEnv holds the values of those Wanted.HostEnv names that are set.
	HostEnv map[string]string
	// Secrets tells by name what was found of those in Wanted.Secrets.
	Secrets map[string]secret.Facts
	Home    string // the private home directory of the workspace
	// Active counts the principal's runs that have not settled.
	Active int
	// Levels of containment can be given here; Unavailable says what others lack.
	Levels      []paddock.Level
	Unavailable map[paddock.Level]string
	Account     *paddock.Account // what `run_as` stands for
	Unowned     *paddock.Refusal // why a run can't have the account that it should get
	// Held names the limits of a tree that can be enforced here, Unheld says why not others.
	Held   []string
	Unheld string
}

// ExecutableFacts describes the file at Wanted.Executable.
type ExecutableFacts struct {
	Found bool // it exists
	// Unsafe says in words why the file can't be trusted: not a regular file,
	// not executable, a wrong owner, writable by others, a parent that is, an
	// interpreter of which one of these holds. Empty means that it is safe.
	Unsafe string
	// Digest is set when Wanted.Pinned, and an interpreter's where Wanted.Pins has it.
	Digest       paddock.Digest
	Interpreters []paddock.Interpreter
}

// DirFacts describes the working directory asked for.
type DirFacts struct {
	Found bool // it exists and is a directory
	// Real is its path with every symbolic link followed.
	Real string
	// Root is the root (as in Policy.Roots) that holds it, empty if none does.
	Root string
}

// PathFacts says where a path argument leads.
type PathFacts struct {
	// Real is the path with links followed, as far as it exists.
	Real string
	// Inside is set when Real lies inside a root.
	Inside bool
}

// StdinFacts describes the standard input asked for, when it is a file or a run.
type StdinFacts struct {
	// Problem says in words why it can't be given; empty means that it can.
	// Checked must be set too: the zero value refuses.
	Checked bool
	Problem string
}

// An Error is one fault of a policy file.
type Error struct {
	Position paddock.Position `json:"position"`
	Message  string           `json:"message"`
}

// Errors is everything wrong with one policy file, in the order of the file.
type Errors struct {
	List []Error `json:"errors"`
}

// Error returns one line per fault, each as file:line:column: message.
func (e *Errors) Error() string {
	var b strings.Builder
	for i, one := range e.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s", one.Position.File, one.Position.Line, one.Position.Column, one.Message)
	}
	return b.String()
}
