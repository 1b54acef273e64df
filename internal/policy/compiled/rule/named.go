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
	Floor   bool
	Rule    *Rule
	Message string
}

// Refusal is the rule's answer, in its own words where it has some.
func (r *Named) Refusal(code paddock.Code, verb string) *paddock.Refusal {
	message := r.Message
	if message == "" {
		message = fmt.Sprintf("Rule `%s` %s this request.", r.Name, verb)
	}
	refusal := paddock.Refused(code, "%s", message)
	refusal.Rule = r.Name
	return refusal
}
