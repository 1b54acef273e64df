// Package rule evaluates a policy's rules, which are written in CEL.
//
// A rule sees the request as a handful of variables and says true or false. It
// can't loop, read anything or run for long: each evaluation has a cost limit,
// and a rule that exceeds it, or fails in any way, has an error, which its
// caller must take as a denial.
//
// # Limits
//
// The package decides nothing: which rule beats which is package policy's. It
// builds the CEL environment when the first rule is compiled and not before,
// because that costs more than the rest of a decision. A program that is built with
// the tag quick has no CEL in it at all: see [Evaluates].
package rule

import "errors"

// ErrElsewhere says that a policy has rules, and that this program has no CEL to judge by
// them: see [Evaluates].
var ErrElsewhere = errors.New("the policy has rules, which this program was built without")

// Input is what a rule sees.
type Input struct {
	Argv       []string
	Executable string // the policy's name for it, or its path if it has none
	Path       string
	Cwd        string // the real path of the working directory
	// Principal is the id, PrincipalKind operator, agent, host or user.
	Principal     string
	PrincipalKind string
	// Env are the names of the variables that the caller asks for, sorted.
	Env []string
	// Stdin is whether the caller gives a standard input.
	Stdin bool
}

// A Variable is one name that a rule may use.
type Variable struct{ Name, Type, Meaning string }

// Variables lists what rules may use.
func Variables() []Variable {
	return []Variable{
		{"argv", "list of string", "the command's words; argv[0] is the word that the caller used"},
		{"executable", "string", "the policy's name for the program, or its path if it has no name"},
		{"path", "string", "the absolute path of the program"},
		{"cwd", "string", "the working directory with symbolic links followed"},
		{"principal", "string", "the id of who asks"},
		{"principal_kind", "string", "operator, agent, host or user"},
		{"env", "list of string", "the names of the variables that the caller asks for"},
		{"stdin", "bool", "whether the caller gives a standard input, or a terminal to type at"},
	}
}

// A Fault is one thing wrong with an expression. Lines count from one, columns
// from zero, within the expression.
type Fault struct {
	Line, Column int
	Message      string
}
