// Package asked is what the journal tells of matters that persons are asked about.
//
// # Limits
//
// It composes and checks nothing: package approval knows which votes count.
package asked

import (
	"paddock"
	"paddock/internal/journal/short"
)

// What a detail has room for.
const (
	mostArgv  = 2 << 10
	mostNames = 2 << 10
	mostText  = 512
)

// A Detail is a step of a matter.
type Detail struct {
	ID paddock.ApprovalID `json:"id"`
	// Step is asked, approved, denied, used or expired.
	Step string `json:"step"`
	// Digest is of what is signed.
	Digest paddock.Digest `json:"digest"`
	// Argv and what follows are told when it is asked; Argv is in part where
	// ArgvCount is there.
	Argv          []string       `json:"argv,omitempty"`
	ArgvCount     int            `json:"argv_count,omitempty"`
	Rules         []string       `json:"rules,omitempty"`
	RequestDigest paddock.Digest `json:"request_digest,omitempty"`
	PolicyDigest  paddock.Digest `json:"policy_digest,omitempty"`
	// Name is of the key that signed, Envelope the digest of what it signed.
	Name     string         `json:"name,omitempty"`
	Envelope paddock.Digest `json:"envelope,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	// SecondFactor is set when a rule wants one. Verifier says that it was shown, and
	// Account by whom.
	SecondFactor bool   `json:"second_factor,omitempty"`
	Verifier     string `json:"verifier,omitempty"`
	Account      string `json:"account,omitempty"`
}

// Of is a step of a. The vote is that of who approves or denies.
func Of(step string, a paddock.Approval, vote *paddock.Vote, envelope paddock.Digest) *Detail {
	d := &Detail{ID: a.ID, Step: step, Digest: a.Digest, Envelope: envelope}
	switch {
	case vote != nil:
		d.Name, d.Reason = short.Text(vote.Name, mostText), short.Text(vote.Reason, mostText)
		if vote.Factor != nil {
			d.Verifier, d.Account = short.Text(vote.Factor.Verifier, mostText), short.Text(vote.Factor.Account, mostText)
		}
	case step == "asked":
		d.Argv, d.ArgvCount = short.Words(a.Matter.Argv, mostArgv)
		d.Rules, _ = short.Words(a.Matter.Rules, mostNames)
		d.SecondFactor = a.Matter.SecondFactor
		d.RequestDigest, d.PolicyDigest = a.Matter.RequestDigest, a.Matter.PolicyDigest
	}
	return d
}
