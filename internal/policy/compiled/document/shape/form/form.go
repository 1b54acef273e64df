// Package form has the parts of a policy file as it is written, with their places.
//
// # Limits
//
// Nothing is checked here and nothing is given a meaning: package document reads
// the parts, and package compiled knows what they ask for.
package form

import (
	"paddock"
	"paddock/internal/policy/compiled/document/shape"
)

// A Text is a scalar of the file with its place.
type Text struct {
	Value string
	At    paddock.Position
	value *shape.Value
}

// Given reports whether the file has the text.
func (t Text) Given() bool { return t.value != nil }

// Within returns the place in the file of a place in the text; lines count from
// one, columns from zero.
func (t Text) Within(line, column int) paddock.Position {
	p := t.At
	if t.value != nil {
		p.Line, p.Column = t.value.Within(line, column)
	}
	return p
}

// NewText returns the text of v, which is at at.
func NewText(v *shape.Value, at paddock.Position) Text { return Text{v.Text, at, v} }

// Source returns what was read, nil if the file hasn't the text.
func (t Text) Source() *shape.Value { return t.value }

// A Pair is a key and its value.
type Pair struct{ Name, Value Text }

// A File is a policy as it is written. Absent parts are zero.
type File struct {
	Roots       []Text
	Executables []Executable
	Rules       []Rule
	Environment Environment
	Secrets     []Secret
	Redact      paddock.Redaction
	Limits      Limits
	Retention   paddock.Retention
	Quotas      paddock.Quotas
	Approvals   paddock.Approvals
	Containment Containment
	Git         Git
	Delegates   Delegates
	Tests       []Test
	Accept      []Acceptance
	// Sections are the places of the top-level keys.
	Sections map[string]paddock.Position

	// Extends is the file that this one narrows, as it is written.
	Extends Text
	// Says has every key that is there, one and two deep: limits, limits.output.
	Says map[string]bool
	// Narrow are the parts that hold for some requests only.
	Narrow []Narrowing
}

// A Narrowing is a part of a policy that holds beside the rest for some requests.
type Narrowing struct {
	At paddock.Position
	// Root is set for one that is about a root, Provider for one that is about the
	// delegates of one; else it is about principals.
	Root     Text
	Provider string
	// Kind and ID say which principals; empty is any.
	Kind string
	ID   Text
	Part File
	// Text is how the part reads, without layout and comments.
	Text string
}

// An Executable is one entry of executables.
type Executable struct {
	At                 paddock.Position
	Name, Path, SHA256 Text
	// Any is set for `args: any`, else Args has at least one rule.
	Any         bool
	Args        []ArgumentRule
	ArgsAt      paddock.Position
	LimitsAt    paddock.Position
	Environment Environment
	Limits      Limits
	// Network is what its runs may reach.
	Network    []Text
	LineBreaks bool
	PTY        bool
	// MaxArgBytes and MaxArgs are zero when absent.
	MaxArgBytes int64
	MaxArgs     int
}

// An ArgumentRule is one entry of args.
type ArgumentRule struct {
	At    paddock.Position
	Deny  bool
	Words []Text
	Flags []Pair
	Rest  Text
	// Message of a deny rule.
	Message Text
}

// A Rule is one entry of rules.
type Rule struct {
	Name, Expression, Message Text
	// Ask is set when the rule asks for approval, else it denies.
	Ask bool
	// SecondFactor is set when who approves must show one.
	SecondFactor bool
}

// An Environment is what programs get. Accept is only of the whole policy.
type Environment struct {
	Set    []Pair
	Pass   []Text
	Accept []Pair
}

// Limits are zero where absent.
type Limits struct {
	Timeout    paddock.Duration
	Idle       paddock.Duration
	Output     int64
	OpenFiles  int
	Concurrent int
	Memory     int64
	Processes  int
	CPUs       float64
	Disk       int64
	FileSize   int64
	// AtLimit is end or drop; Reserve is what is left free of the state directory's disk.
	AtLimit string
	Reserve int64
}

// Containment is what must be enforced. Require is empty when absent.
type Containment struct {
	Require     paddock.Level
	Network     string
	Read, Write []Text
	// RunAs is a user's name, or a uid and perhaps a gid in numbers; no root's.
	RunAs             string
	Workspace, Deeper string
	// Exec is any or listed, ExecAlso what is listed beside the executables.
	Exec     Text
	ExecAlso []Text
	At       paddock.Position
}

// A Secret is one entry of secrets.
type Secret struct {
	At                             paddock.Position // of what is said of it
	Name, File, Header, Prefix, CA Text
	Exec                           *Exec // who says it, where there is no file
	// EnvFor are the words of executables that get it as a variable.
	EnvFor []Text
	// Host is as it is written, Place has its port.
	Host  Text
	Place string
}

// An Exec is the program that says a secret: Argv[0] is the path of Executable.
type Exec struct {
	At         paddock.Position // of the key that says it
	Executable Executable
	Argv       []Text
	Cache      paddock.Duration
	Read       []Text
}

// Values are what texts say.
func Values(texts []Text) []string {
	var out []string
	for _, t := range texts {
		out = append(out, t.Value)
	}
	return out
}

// Git is what the git tools may read, and by which program. Executable isn't
// given when the section is absent.
type Git struct {
	At         paddock.Position
	Roots      []Text
	Executable Text
	SHA256     Text
	// Repositories are the tops of those that roots are directories of.
	Repositories []Text
}

// A Test is one entry of tests.
type Test struct {
	At paddock.Position
	// Refuse is set when the command must be refused.
	Refuse bool
	Argv   []string
	Code   paddock.Code
	Dir    string
}

// An Acceptance is a finding of lint that is as it should be.
type Acceptance struct {
	At                paddock.Position
	ID, Place, Reason Text
}
