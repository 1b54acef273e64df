// Package tally collects what the gates answer to one request into a decision.
//
// A gate notes every reason against the request with Refuse and closes with
// Answer; one that has nothing to ask is closed with Skip.
//
// # Limits
//
// It judges nothing and knows no policy. In which order gates are asked, and
// that each is closed once, is up to who asks them.
package tally

import (
	"slices"

	"paddock"
)

// A Tally is the answers so far. The zero Tally has none.
type Tally struct {
	gates    []paddock.GateResult
	refusals []paddock.Refusal
	open     []paddock.Refusal // of the gate being asked
}

// New returns a Tally with room for the answers of every gate.
func New() Tally {
	return Tally{gates: make([]paddock.GateResult, 0, len(paddock.Gates()))}
}

// Refuse notes a reason of the gate being asked. A zero position is left out.
func (t *Tally) Refuse(at paddock.Position, r *paddock.Refusal) {
	if at != (paddock.Position{}) {
		r.Position = &at
	}
	t.open = append(t.open, *r)
}

// Answer closes the gate: it passes unless something was refused since the
// last one. Detail says what was found when it passes.
func (t *Tally) Answer(g paddock.Gate, at paddock.Position, detail string) bool {
	result := paddock.GateResult{Gate: g, Verdict: paddock.Pass, Detail: detail}
	if at != (paddock.Position{}) {
		result.Position = &at
	}
	passed := !t.Refusing()
	if !passed {
		result.Verdict, result.Detail, result.Position = paddock.Refuse, t.open[0].Message, t.open[0].Position
		for i := range t.open {
			t.open[i].Gate = g
		}
		t.refusals = append(t.refusals, t.open...)
		t.open = t.open[:0]
	}
	t.gates = append(t.gates, result)
	return passed
}

// Skip closes the gate without an answer.
func (t *Tally) Skip(g paddock.Gate, why string) {
	t.gates = append(t.gates, paddock.GateResult{Gate: g, Verdict: paddock.Skipped, Detail: why})
}

// Refusing reports whether the gate being asked has a reason against the request.
func (t *Tally) Refusing() bool { return len(t.open) > 0 }

// Refused reports whether a gate that is closed refused with code.
func (t *Tally) Refused(code paddock.Code) bool {
	return slices.ContainsFunc(t.refusals, func(r paddock.Refusal) bool { return r.Code == code })
}

// Conclude puts the answers into d: deny beats ask beats allow.
func (t *Tally) Conclude(d *paddock.Decision) {
	d.Gates, d.Refusals = t.gates, t.refusals
	switch {
	case len(t.refusals) == 0:
		d.Effect = paddock.Allow
	case slices.ContainsFunc(t.refusals, func(r paddock.Refusal) bool { return r.Code != paddock.ApprovalRequired }):
		d.Effect = paddock.Deny
	default:
		d.Effect = paddock.Ask
	}
}
