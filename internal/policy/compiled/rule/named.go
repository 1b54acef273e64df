package rule

import (
	"fmt"

	"paddock"
)

// A Named rule is one of a policy's: it denies, or asks for a person's approval.
type Named struct {
	At   paddock.Position
	Name string
	Ask  bool
	// Floor is set when the machine's floor asks: whom the policy lists can't approve.
	Floor bool
	// SecondFactor is set when who approves must have shown one.
	SecondFactor bool

	Rule    *Rule
	Message string
}

// Refusal is the rule's answer, in its own words where it has some.
func (r *Named) Refusal(code paddock.Code, verb string) *paddock.Refusal {
	if r.SecondFactor {
		verb = "wants a person's approval, with a second factor, for"
	}
	message := r.Message
	if message == "" {
		message = fmt.Sprintf("Rule `%s` %s this request.", r.Name, verb)
	}
	refusal := paddock.Refused(code, "%s", message)
	refusal.Rule, refusal.SecondFactor = r.Name, r.SecondFactor
	return refusal
}

// PrepareAll makes in ready for [Rule.Any], as p asks and as each asks for whom p works.
func PrepareAll(in Input, p paddock.Principal) (all []*Activation) {
	for works := true; works; {
		in.Principal, in.PrincipalKind = p.ID, string(p.Kind)
		all = append(all, Prepare(in))
		p, _, works = p.Above()
	}
	return all
}

// Any says whether the rule is true in one of all, or can't be evaluated in one.
func (r *Rule) Any(all []*Activation) (bool, error) {
	for _, a := range all {
		if is, err := r.Eval(a); is || err != nil {
			return is, err
		}
	}
	return false, nil
}
