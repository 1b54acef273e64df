package approval

import (
	"errors"
	"fmt"

	"paddock"
	"paddock/internal/approval/vouched"
)

// errFactor is the error of a vote that would count with a second factor.
var errFactor = errors.New("a rule wants a second factor of who approves")

// A word is what a server that the policy lists says of a vote.
type word struct {
	by   string
	said vouched.Statement
}

// unwrap returns the envelope of a vote that was brought as text, and the word of a
// server where one signed it; nil where none did.
func unwrap(text []byte, by []paddock.ApprovalVerifier) ([]byte, *word, error) {
	if !vouched.Is(text) {
		return text, nil, nil
	}
	for _, listed := range by {
		key, err := keyOf(listed.Key)
		if err != nil {
			continue
		}
		if said, err := vouched.Open(key, text); err == nil {
			return []byte(said.Vote), &word{listed.Name, said}, nil
		}
	}
	return nil, nil, fmt.Errorf("%w, and no verifier that the policy lists signed this", errFactor)
}

// factor is the one that who holds listed showed for a vote on a.
func (w *word) factor(a paddock.Approval, listed paddock.ApprovalKey) (*paddock.FactorShown, error) {
	if w == nil {
		return nil, errFactor
	}
	if err := w.said.Check(listed.Account, a.AskedAt, a.ExpiresAt); err != nil {
		return nil, fmt.Errorf("%w: %w", errFactor, err)
	}
	return w.said.Shown(w.by), nil
}

// Void is the error of a vote that doesn't count.
type Void struct{ Why error }

func (v *Void) Error() string { return v.Why.Error() }

// Unwrap returns why.
func (v *Void) Unwrap() error { return v.Why }

// Refusal is what who brought a vote on id is told.
func (v *Void) Refusal(id paddock.ApprovalID) *paddock.Refusal {
	code, hint := paddock.Forbidden, "Look at it with `paddock approve show`, and sign it with a key that its policy lists under `approvals`, and that isn't of who asks."
	if errors.Is(v.Why, errFactor) {
		code, hint = paddock.SecondFactorRequired, "Log in at a server that its policy lists under `approvals.verifiers`, with the account that it names beside your key, show a passkey or a one-time password, and bring what `paddock approve sign` prints there within ten minutes. It can be denied without."
	}
	r := paddock.Refused(code, "The vote on %s doesn't count: %v.", id, v)
	r.Hint = hint
	return r
}
