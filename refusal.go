package paddock

import "fmt"

// A Refusal is a decision against a request, carried as an error. It is not a
// failure: nothing broke, and the same request will be refused again unless
// Retryable is set.
type Refusal struct {
	Code Code `json:"code"`
	// Message says what is refused and why, for people and models, in one or
	// two sentences.
	Message string `json:"message"`
	// Hint says what to do next.
	Hint string `json:"hint,omitempty"`
	// Rule names the policy's rule that refused, where one did.
	Rule string `json:"rule,omitempty"`
	Gate Gate   `json:"gate,omitempty"`
	// SecondFactor is set when that rule wants a second factor of who approves.
	SecondFactor bool `json:"second_factor,omitempty"`
	// Position is where in the policy the decision was made.
	Position *Position `json:"position,omitempty"`
	// Suggestion is a form that the caller probably meant.
	Suggestion *Suggestion `json:"suggestion,omitempty"`
	// Retryable is set when the same request may pass later.
	Retryable bool `json:"retryable"`
	// Others are the further reasons of the same decision.
	Others []Refusal `json:"others,omitempty"`
}

// A Suggestion shows argv arrays that a caller probably meant, in order. They
// are for the caller to read; nothing runs them.
type Suggestion struct {
	Argvs [][]string `json:"argvs,omitempty"`
	Note  string     `json:"note,omitempty"`
}

// Error returns the code and the message.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Message) }

// Refused makes a Refusal whose hint and retryable flag are the code's own;
// the message is formatted.
func Refused(code Code, format string, args ...any) *Refusal {
	r := refused(code, format, args) // so that who copies it has made one, and not two
	return &r
}

func refused(code Code, format string, args []any) Refusal {
	info := code.Info()
	return Refusal{Code: code, Message: fmt.Sprintf(format, args...), Hint: info.Hint, Gate: info.Gate, Retryable: info.Retryable}
}
