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
	"time"

	"paddock"
)

// A Tally is the answers so far. The zero Tally has none.
type Tally struct {
	gates    paddock.Answering // and what the gate being asked found
	refusals []paddock.Refusal
	open     int // the first refusal of that gate
}

// Forget drops what belongs to the decision, and keeps the room that is needed again.
func (t *Tally) Forget() {
	t.gates.Reset()
	t.refusals, t.open = nil, 0
}

// Refuse notes a reason of the gate being asked. A zero position is left out.
func (t *Tally) Refuse(at paddock.Position, r *paddock.Refusal) {
	if at != (paddock.Position{}) {
		r.Position = &at
	}
	t.refusals = append(t.refusals, *r)
}

// Say adds to what the gate being asked found what is so by the policy, and Own what is
// so of this request.
func (t *Tally) Say(words ...string) { t.gates.Say(words...) }

// Own adds what is so of this request.
func (t *Tally) Own(words ...string) { t.gates.Own(words...) }

// Count adds a number, of this request.
func (t *Tally) Count(n int64) { t.gates.Count(n) }

// Spend adds a time, as [paddock.Duration.String] says it, without garbage; and words after it.
func (t *Tally) Spend(d paddock.Duration, after string) {
	s := time.Duration(d) / time.Second
	if d <= 0 || time.Duration(d)%time.Second != 0 {
		t.Own(d.String(), after)
		return
	}
	if s >= 3600 {
		t.Count(int64(s / 3600))
		t.Own("h")
	}
	if s >= 60 {
		t.Count(int64(s / 60 % 60))
		t.Own("m")
	}
	t.Count(int64(s % 60))
	t.Own("s", after)
}

// Answer closes the gate: it passes unless something was refused since the
// last one. Detail says what was found when it passes, and before it whatever was
// said.
func (t *Tally) Answer(g paddock.Gate, at paddock.Position, detail string) bool {
	if !t.Refusing() {
		t.gates.Add(g, paddock.Pass, at, detail)
		return true
	}
	first := &t.refusals[t.open]
	if at = (paddock.Position{}); first.Position != nil {
		at = *first.Position
	}
	for i := t.open; i < len(t.refusals); i++ {
		t.refusals[i].Gate = g
	}
	t.open = len(t.refusals)
	t.gates.Unsay()
	t.gates.Add(g, paddock.Refuse, at, first.Message)
	return false
}

// Skip closes the gate without an answer.
func (t *Tally) Skip(g paddock.Gate, why string) {
	t.gates.Unsay()
	t.gates.Add(g, paddock.Skipped, paddock.Position{}, why)
}

// Refusing reports whether the gate being asked has a reason against the request.
func (t *Tally) Refusing() bool { return len(t.refusals) > t.open }

// Refused reports whether a gate that is closed refused with code.
func (t *Tally) Refused(code paddock.Code) bool {
	return slices.ContainsFunc(t.refusals[:t.open], func(r paddock.Refusal) bool { return r.Code == code })
}

// Conclude puts the answers into d: deny beats ask beats allow.
func (t *Tally) Conclude(d *paddock.Decision) {
	d.Gates, d.Refusals = t.gates.Answers(), nil
	if t.open > 0 {
		d.Refusals = t.refusals[:t.open:t.open]
	}
	switch {
	case len(d.Refusals) == 0:
		d.Effect = paddock.Allow
	case slices.ContainsFunc(d.Refusals, func(r paddock.Refusal) bool { return r.Code != paddock.ApprovalRequired }):
		d.Effect = paddock.Deny
	default:
		d.Effect = paddock.Ask
	}
}
