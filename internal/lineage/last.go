package lineage

import (
	"crypto/sha256"
	"errors"
	"sync"

	"paddock"
	"paddock/internal/policy"
	"paddock/internal/policy/compiled/layered"
)

// A Last keeps the last text of a policy that could be used, for processes that live
// long: while an operator's change has errors, what was said before still holds, whole.
// What was taken away, or can't be believed any more, holds no longer. The zero Last
// keeps nothing. It is safe for concurrent use.
type Last struct {
	mu      sync.Mutex
	path    string
	policy  *policy.Policy
	trouble *Trouble
}

// Trouble is a text that can't be used while an earlier one is in force.
type Trouble struct {
	Text    paddock.Digest // of the text
	InForce paddock.Digest
	Problem *paddock.Refusal
}

// Take is given what became of the text of the policy at path, and returns what
// holds: p, or the last policy of the same path where problem is a refusal, which is
// one of the text.
func (l *Last) Take(path string, data []byte, more []policy.Source, p *policy.Policy, problem error) (*policy.Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if problem == nil {
		l.path, l.policy, l.trouble = path, p, nil
		return p, nil
	}
	var refusal *paddock.Refusal
	if !errors.As(problem, &refusal) {
		return nil, problem
	}
	if l.policy == nil || l.path != path || !readable(more) {
		l.forget()
		return p, problem
	}
	l.trouble = &Trouble{
		Text:    paddock.DigestOf(sha256.Sum256(layered.Bundle(path, data, more...))),
		InForce: l.policy.Digest(), Problem: refusal,
	}
	return l.policy, nil
}

// Forget lets go of the policy: it was taken away.
func (l *Last) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget()
}

func (l *Last) forget() { l.path, l.policy, l.trouble = "", nil, nil }

// Trouble returns what is wrong with the newest text; nil where it is in force.
func (l *Last) Trouble() *Trouble {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// readable reports whether all files are there and can be believed.
func readable(more []policy.Source) bool {
	for _, s := range more {
		if s.Problem != "" {
			return false
		}
	}
	return true
}
