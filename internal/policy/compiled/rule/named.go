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

// Unanswered denies, since it can't be told whether the rule applies.
func (r *Named) Unanswered(err error) *paddock.Refusal {
	refusal := paddock.Refused(paddock.RuleDenied, "Rule `%s` can't be evaluated for this request, so it denies: %v.", r.Name, err)
	refusal.Hint, refusal.Rule = "The operator corrects the rule.", r.Name
	return refusal
}

// Wants is the answer of a rule that asks, as long as nobody approved.
func (r *Named) Wants() *paddock.Refusal {
	refusal := r.Refusal(paddock.ApprovalRequired, "wants a person's approval for")
	if r.Floor {
		refusal.Hint = "No policy lists who can approve what the floor of this machine asks. " + refusal.Hint
	}
	return refusal
}
