package source

import (
	"path/filepath"

	"paddock/internal/policy"
)

// Held is p, whatever becomes of its file: who asks for what a decision needs asks by
// what decided.
func Held(p *policy.Policy) Source { return held{p} }

type held struct{ policy *policy.Policy }

// Load implements Source.
func (h held) Load() (*policy.Policy, error) { return h.policy, nil }

// Place is where its file lies; empty where it is a text.
func (h held) Place() string {
	if name := h.policy.Name(); filepath.IsAbs(name) {
		return name
	}
	return ""
}
