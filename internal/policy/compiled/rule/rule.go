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
// because that costs more than the rest of a decision.
package rule

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Bounds of a rule. The cost lets an expression match a pattern against each
// word of the largest command several times; it is some tens of milliseconds.
const (
	maxExpression = 8 << 10
	maxRecursion  = 64
	maxCost       = 2_000_000
)

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

var environment = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.ParserRecursionLimit(maxRecursion),
		cel.ParserExpressionSizeLimit(maxExpression),
		// A regular expression that can't be compiled, or a duration that can't
		// be read, is a fault of the policy and not of one of its requests.
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
	}
	for _, v := range Variables() {
		t := cel.StringType
		switch v.Type {
		case "list of string":
			t = cel.ListType(cel.StringType)
		case "bool":
			t = cel.BoolType
		}
		options = append(options, cel.Variable(v.Name, t))
	}
	return cel.NewEnv(options...)
})

// A Rule is a compiled expression, safe for concurrent use.
type Rule struct {
	program cel.Program
	ast     *cel.Ast
}

// A Fault is one thing wrong with an expression. Lines count from one, columns
// from zero, within the expression.
type Fault struct {
	Line, Column int
	Message      string
}

// Compile returns the rule, or every fault of the expression.
func Compile(expression string) (*Rule, []Fault) {
	env, err := environment()
	if err != nil {
		return nil, []Fault{{1, 0, "CEL can't be set up: " + err.Error()}}
	}
	if len(expression) > maxExpression {
		return nil, []Fault{{1, 0, fmt.Sprintf("the expression has %d bytes; at most %d are read", len(expression), maxExpression)}}
	}
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		var faults []Fault
		for _, e := range issues.Errors() {
			faults = append(faults, Fault{max(e.Location.Line(), 1), max(e.Location.Column(), 0), explain(e.Message)})
		}
		return nil, faults
	}
	if checked.OutputType() != cel.BoolType {
		return nil, []Fault{{1, 0, "the expression must be true or false, not " + checked.OutputType().String()}}
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, []Fault{{1, 0, err.Error()}}
	}
	return &Rule{program, checked}, nil
}

// explain adds what is allowed to an error about a name.
func explain(message string) string {
	if strings.HasPrefix(message, "undeclared reference") {
		names := make([]string, 0, 8)
		for _, v := range Variables() {
			names = append(names, v.Name)
		}
		return "CEL: " + message + "; the variables are " + strings.Join(names, ", ")
	}
	return "CEL: " + message
}

// An Activation is an Input made ready for any number of rules, one after the other.
type Activation struct {
	in        Input
	argv, env ref.Val // made when a rule asks, and then for all
}

// Prepare makes in ready for [Rule.Eval].
func Prepare(in Input) *Activation { return &Activation{in: in} }

// ResolveName returns the variable that a rule names, as [Variables] lists them.
func (a *Activation) ResolveName(name string) (any, bool) {
	switch name {
	case "argv":
		if a.argv == nil {
			a.argv = types.DefaultTypeAdapter.NativeToValue(a.in.Argv)
		}
		return a.argv, true
	case "env":
		if a.env == nil {
			a.env = types.DefaultTypeAdapter.NativeToValue(a.in.Env)
		}
		return a.env, true
	case "executable":
		return types.String(a.in.Executable), true
	case "path":
		return types.String(a.in.Path), true
	case "cwd":
		return types.String(a.in.Cwd), true
	case "principal":
		return types.String(a.in.Principal), true
	case "principal_kind":
		return types.String(a.in.PrincipalKind), true
	case "stdin":
		return types.Bool(a.in.Stdin), true
	}
	return nil, false
}

// Parent is nobody.
func (a *Activation) Parent() cel.Activation { return nil }

// Eval says whether the rule applies. An error means that it can't be told.
func (r *Rule) Eval(a *Activation) (bool, error) {
	out, _, err := r.program.Eval(a)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok { // the type checker has excluded it
		return false, errors.New("the rule is neither true nor false")
	}
	return bool(b), nil
}

// Mentions returns the variables that the expression names, and the words with
// which it compares the executable.
func (r *Rule) Mentions() (variables, executables []string) {
	known := map[string]bool{}
	for _, v := range Variables() {
		known[v.Name] = true
	}
	ast.PostOrderVisit(r.ast.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind:
			if known[e.AsIdent()] {
				variables = append(variables, e.AsIdent())
			}
		case ast.CallKind:
			if args := e.AsCall().Args(); e.AsCall().FunctionName() == operators.Equals && len(args) == 2 {
				executables = append(executables, compared(args[0], args[1])...)
				executables = append(executables, compared(args[1], args[0])...)
			}
		}
	}))
	return variables, executables
}

// compared is the word that the variable executable is compared with.
func compared(a, b ast.Expr) []string {
	if a.Kind() != ast.IdentKind || a.AsIdent() != "executable" || b.Kind() != ast.LiteralKind {
		return nil
	}
	if word, ok := b.AsLiteral().(types.String); ok {
		return []string{string(word)}
	}
	return nil
}
