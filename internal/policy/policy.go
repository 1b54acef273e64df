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
	"slices"

	"paddock"
	"paddock/internal/policy/allowance"
	"paddock/internal/policy/compiled"
	"paddock/internal/policy/compiled/document"
	"paddock/internal/policy/compiled/layered"
	"paddock/internal/policy/compiled/layered/ready"
	"paddock/internal/policy/fault"
	"paddock/internal/policy/known"
)

// A Policy is a compiled policy file, with what it extends and is held to. It is
// immutable and safe for concurrent use. The zero Policy allows nothing.
type Policy struct {
	file  compiled.File
	tests []Test
	files []string
	said  string // the files, for people
	text  []byte
	// whole and room are of a policy that judges what a room asks for.
	whole *Policy
	room  string
	// narrowed are the policies that hold where parts of this one do.
	narrowed *ready.Ready[Policy]
}

// A Source is a further text that belongs to a policy; package lineage reads them.
type Source = layered.Source

// Load parses and compiles data, the content of the file called name, and more:
// the file that it extends, the one that this extends, and so on, and the floor
// of the machine. When anything is wrong the error is an [*Errors] that lists all
// of it.
func Load(name string, data []byte, more ...Source) (*Policy, error) {
	file, faults := layered.Load(name, data, more...)
	if len(faults) > 0 {
		return nil, errorsOf(faults)
	}
	p := &Policy{file: file, files: []string{name}, text: layered.Bundle(name, data, more...), narrowed: &ready.Ready[Policy]{}}
	p.said = name
	for _, s := range more {
		p.files = append(p.files, s.Name)
		if s.Floor {
			p.said += ", held to " + s.Name
		} else {
			p.said += ", extends " + s.Name
		}
	}
	for _, t := range file.Tests {
		p.tests = append(p.tests, Test{Position: t.At, Argv: t.Argv, Dir: t.Dir, Refuse: t.Refuse, Code: t.Code})
	}
	return p, nil
}

// Judges returns nil if this program can judge by p, or an error that says why not.
func (p *Policy) Judges() error { return p.file.Judges() }

// Digest returns the SHA-256 of Text.
func (p *Policy) Digest() paddock.Digest { return p.file.Digest }

// Text returns the file's bytes; where other files belong to the policy, all of
// them, each under a line that says which it is.
func (p *Policy) Text() []byte { return slices.Clone(p.text) }

// Files returns the names of all files that belong to the policy, its own first.
func (p *Policy) Files() []string { return slices.Clone(p.files) }

// Name returns the file name given to Load.
func (p *Policy) Name() string { return p.file.Name }

// Roots returns the absolute paths where commands may run, in file order.
func (p *Policy) Roots() []string { return slices.Clone(p.file.Roots) }

// Words returns the words accepted in argv[0], in file order: the name of each
// executable, or its path where it has no name.
func (p *Policy) Words() []string { return p.file.Words() }

// SearchPath returns the PATH that programs get.
func (p *Policy) SearchPath() string { return p.file.SearchPath() }

// Executables returns the absolute paths that the policy names, in file order.
func (p *Policy) Executables() []string { return p.file.Paths() }

// Concurrent returns the most runs of one principal at once.
func (p *Policy) Concurrent() int { return p.file.Concurrent }

// Limits are those that hold where an executable says nothing of its own.
func (p *Policy) Limits() paddock.Limits { return p.file.Limits }

// Reserve returns how many bytes of a disk of size stay free.
func (p *Policy) Reserve(size int64) int64 { return allowance.Reserve(p.file.Reserve, size) }

// Quotas are those that hold for p's requests in root.
func (p *Policy) Quotas(by paddock.Principal, root string) paddock.Quotas {
	return p.Applied(by, root).file.Quotas
}

// Retention says what is kept of runs in the policy's roots that are over.
func (p *Policy) Retention() paddock.Retention { return p.file.Retention }

// Approvals says who can approve what a rule asks about; what a room asks for, nobody can.
func (p *Policy) Approvals() (a paddock.Approvals) {
	if p.room == "" {
		a = p.file.Approvals
	}
	return a
}

// Contain returns how every run is contained.
func (p *Policy) Contain() paddock.ContainAs { return p.file.Contain }

// Given returns the secrets that programs get as variables.
func (p *Policy) Given() []paddock.Given { return slices.Clone(p.file.Given) }

// Secrets returns the secrets that requests of runs may carry, by name.
func (p *Policy) Secrets() []paddock.Injection { return slices.Clone(p.file.Secrets) }

// Tests returns the policy's own tests, in file order.
func (p *Policy) Tests() []Test { return slices.Clone(p.tests) }

// Schema returns the JSON Schema that docs/policy.schema.json holds.
func Schema() []byte { return document.Schema() }

// What Decide must know of the machine, and what was found there.
type (
	Wanted          = layered.Wanted
	Facts           = known.Facts
	ExecutableFacts = known.ExecutableFacts
	DirFacts        = known.DirFacts
	PathFacts       = known.PathFacts
	StdinFacts      = known.StdinFacts
)

// What is wrong with a policy, and what it says of itself.
type (
	Test   = fault.Test
	Error  = fault.Error
	Errors = fault.Errors
)

// Wanted tells what to look up before deciding req. A nil Policy wants nothing.
func (p *Policy) Wanted(req paddock.Request) Wanted {
	if p == nil {
		return Wanted{}
	}
	return layered.Wants(&p.file, req)
}
