//go:build !quick || !linux

package rule

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
)

// To count what an expression costs makes more garbage than to evaluate it, and most
// can't cost too much: no expression runs longer than its text and the sizes of what it
// is about allow. So it is estimated once, of what requests have at most, and counted
// only where the estimate is above the limit, or a request larger.

// sizes are how many words a list has at most, and how many bytes a text.
type sizes struct{ words, bytes int }

// bounds are the sizes for which costs are estimated: of whatever an executable gets
// whose policy doesn't raise it, and of what commands are like.
var bounds = []sizes{{256, 4096}, {32, 512}}

func (s sizes) within(most sizes) bool { return s.words <= most.words && s.bytes <= most.bytes }

// sizesOf are the sizes of what a rule can see.
func sizesOf(in Input) sizes {
	s := sizes{words: max(len(in.Argv), len(in.Env))}
	s.bytes = max(len(in.Executable), len(in.Path), len(in.Cwd), len(in.Principal), len(in.PrincipalKind))
	for _, words := range [2][]string{in.Argv, in.Env} {
		for _, w := range words {
			s.bytes = max(s.bytes, len(w))
		}
	}
	return s
}

// bounded returns the largest of bounds for which the expression can't cost too much;
// the zero sizes where there is none.
func bounded(env *cel.Env, checked *cel.Ast) sizes {
	for _, s := range bounds {
		if most, err := env.EstimateCost(checked, estimator{s}); err == nil && most.Max <= maxCost {
			return s
		}
	}
	return sizes{}
}

// An estimator knows how large variables can be, and leaves the rest to CEL.
type estimator struct{ most sizes }

func (e estimator) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	switch strings.Join(node.Path(), ".") {
	case "argv", "env":
		return &cost.SizeEstimate{Max: uint64(e.most.words)}
	case "argv.@items", "env.@items", "executable", "path", "cwd", "principal", "principal_kind":
		return &cost.SizeEstimate{Max: uint64(e.most.bytes)}
	}
	return nil // as large as can be, where CEL doesn't know better
}

func (estimator) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}
