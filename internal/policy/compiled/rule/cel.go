//go:build !quick || !linux

package rule

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// Evaluates says that this program has CEL in it.
const Evaluates = true

// Bounds of a rule. The cost lets an expression match a pattern against each
// word of the largest command several times; it is some tens of milliseconds.
const (
	maxExpression = 8 << 10
	maxRecursion  = 64
	maxCost       = 2_000_000
)

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
	ast *cel.Ast
	// plain doesn't count what it costs, for what can't cost too much: what has at most
	// these sizes. Counted ends what does, and is made when it is first needed.
	plain   cel.Program
	most    sizes
	counted func() (cel.Program, error)
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
	r := &Rule{ast: checked, most: bounded(env, checked), counted: sync.OnceValues(func() (cel.Program, error) {
		return env.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	})}
	if r.most == (sizes{}) {
		_, err = r.counted()
	} else {
		r.plain, err = env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	}
	if err != nil {
		return nil, []Fault{{1, 0, err.Error()}}
	}
	return r, nil
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
