// Package known has what must be known of the machine to judge a request, and the
// form in which it is told.
//
// # Limits
//
// Nothing is looked up here: whoever executes does that, and a policy reads it.
package known

import (
	"fmt"

	"paddock"
	"paddock/internal/policy/known/secret"
	"paddock/internal/policy/known/usage"
)

// Facts is what was found on the machine for one request. The zero value of
// each field is the answer that allows least.
type Facts struct {
	// PolicyProblem says why there is no policy, when there is none.
	PolicyProblem *paddock.Refusal
	// PolicyNotice says what else there is to know of the policy, for explain.
	PolicyNotice string
	// Approved is set when persons approved what rules ask about.
	Approved   bool
	Executable ExecutableFacts
	Dir        DirFacts
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
	// Usage is what was used of the quotas.
	Usage usage.Facts
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
	// Apart is set when it, or what it is relative to, lies in a root that only commands
	// with a workspace may use.
	Apart bool
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
	// Lost is how many bytes of a run's output weren't kept, and so aren't given.
	Lost int64
}

// Trouble says why it can't be given; "" means that it can.
func (s StdinFacts) Trouble() string {
	if !s.Checked {
		return "it wasn't looked at"
	}
	return s.Problem
}

// Said says in words what is given where in asks for a file or a run.
func (s StdinFacts) Said(in paddock.Stdin) string {
	if in.Run == "" {
		return "a file"
	}
	if s.Lost > 0 {
		return fmt.Sprintf("what was kept of a run's output; %d bytes weren't", s.Lost)
	}
	return "a run's output"
}
