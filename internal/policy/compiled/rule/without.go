//go:build quick && linux

package rule

import "paddock"

// Evaluates says that this program has no CEL in it, whose tables alone take longer to
// make than all else before main. It knows that a policy has rules, and can't judge by
// them: whoever is to must be the program that has everything.
const Evaluates = false

// A Rule is one that can't be asked here.
type Rule struct{}

// An Activation is as good as none.
type Activation struct{}

// Compile returns a rule that nobody can ask; what is wrong with the expression is told
// by the program that can.
func Compile(string) (*Rule, []Fault) { return &Rule{}, nil }

// Prepare has nothing to make ready.
func Prepare(Input) *Activation { return &Activation{} }

// Eval can't tell, so whoever asks in spite of [Evaluates] has a denial.
func (*Rule) Eval(*Activation) (bool, error) {
	return false, ErrElsewhere
}

// An Asked is as good as none.
type Asked struct{}

// Begin has nothing to make ready.
func (*Asked) Begin(Input, paddock.Principal) {}

// Forget has nothing to drop.
func (*Asked) Forget() {}

// Any can't tell either.
func (*Rule) Any(*Asked) (bool, error) { return false, ErrElsewhere }

// Mentions knows nothing; what asks is the other program's.
func (*Rule) Mentions() (variables, executables []string) { return nil, nil }
