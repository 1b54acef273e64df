//go:build !quick || !linux

package rule

import (
	"errors"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"paddock"
)

// An Activation is an Input made ready for any number of rules, one after the other.
type Activation struct {
	in        Input
	sizes     sizes
	argv, env ref.Val // made when a rule asks, and then for all
}

// Prepare makes in ready for [Rule.Eval].
func Prepare(in Input) *Activation { return &Activation{in: in, sizes: sizesOf(in)} }

// Asked is one request, made ready for all rules: as its principal asks, and as each
// asks for whom that works. The zero Asked is ready for Begin.
type Asked struct{ as []Activation }

// Begin forgets the request before, and makes in ready, as asked by p.
func (a *Asked) Begin(in Input, p paddock.Principal) {
	a.Forget()
	for works := true; works; {
		in.Principal, in.PrincipalKind = p.ID, string(p.Kind)
		a.as = append(a.as, Activation{in: in, sizes: sizesOf(in)})
		p, _, works = p.Above()
	}
}

// Forget drops the request, and keeps the room that it took.
func (a *Asked) Forget() {
	clear(a.as)
	a.as = a.as[:0]
}

// Any says whether the rule is true in one way to ask, or can't be evaluated in one.
func (r *Rule) Any(a *Asked) (bool, error) {
	for i := range a.as {
		if is, err := r.Eval(&a.as[i]); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// ResolveName returns the variable that a rule names, as [Variables] lists them.
func (a *Activation) ResolveName(name string) (any, bool) {
	switch name {
	case "argv":
		if a.argv == nil {
			a.argv = list(a.in.Argv)
		}
		return a.argv, true
	case "env":
		if a.env == nil {
			a.env = list(a.in.Env)
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

// list makes values of words, which are then the same for each rule that loops over them.
func list(words []string) ref.Val {
	values := make([]ref.Val, len(words))
	for i, w := range words {
		values[i] = types.String(w)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// Parent is nobody.
func (a *Activation) Parent() cel.Activation { return nil }

// Eval says whether the rule applies. An error means that it can't be told.
func (r *Rule) Eval(a *Activation) (bool, error) {
	program := r.plain
	if program == nil || !a.sizes.within(r.most) {
		var err error
		if program, err = r.counted(); err != nil {
			return false, err
		}
	}
	out, _, err := program.Eval(a)
	if err != nil {
		return false, err
	}
	b, ok := out.(types.Bool)
	if !ok { // the type checker has excluded it
		return false, errors.New("the rule is neither true nor false")
	}
	return bool(b), nil
}
