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
	"strconv"

	"paddock"
)

// A Tally is the answers so far. The zero Tally has none.
type Tally struct {
	gates    []paddock.GateResult
	places   []paddock.Position
	refusals []paddock.Refusal
	open     int // the first refusal of the gate being asked

	// text is what gates found, one behind the other, so that all of it becomes one
	// string. The gate being asked began at from; cuts are the ends, by gate.
	text []byte
	from int
	cuts []int
}

// most is how many gates have room at once.
const most = 13

// A room is where the answers to one request stand: it belongs to the decision.
type room struct {
	gates  [most]paddock.GateResult
	places [most]paddock.Position
}

// Begin forgets what the tally has, and keeps what it needs again.
func (t *Tally) Begin() {
	r := new(room)
	*t = Tally{gates: r.gates[:0], places: r.places[:0], text: t.text[:0], cuts: t.cuts[:0]}
}

// Forget drops what belongs to the decision.
func (t *Tally) Forget() { *t = Tally{text: t.text[:0], cuts: t.cuts[:0]} }

// Refuse notes a reason of the gate being asked. A zero position is left out.
func (t *Tally) Refuse(at paddock.Position, r *paddock.Refusal) {
	if at != (paddock.Position{}) {
		r.Position = &at
	}
	t.refusals = append(t.refusals, *r)
}

// Say adds to what the gate being asked found.
func (t *Tally) Say(words ...string) {
	for _, w := range words {
		t.text = append(t.text, w...)
	}
}

// Count adds a number.
func (t *Tally) Count(n int64) { t.text = strconv.AppendInt(t.text, n, 10) }

// Answer closes the gate: it passes unless something was refused since the
// last one. Detail says what was found when it passes, and before it whatever was
// said.
func (t *Tally) Answer(g paddock.Gate, at paddock.Position, detail string) bool {
	result := paddock.GateResult{Gate: g, Verdict: paddock.Pass, Detail: detail}
	passed := !t.Refusing()
	if passed {
		if len(t.text) > t.from {
			t.Say(detail)
		}
		result.Position = t.place(at)
	} else {
		first := t.refusals[t.open]
		result.Verdict, result.Detail, result.Position = paddock.Refuse, first.Message, first.Position
		for i := t.open; i < len(t.refusals); i++ {
			t.refusals[i].Gate = g
		}
		t.open, t.text = len(t.refusals), t.text[:t.from]
	}
	t.closed(result)
	return passed
}

// place returns where at can be pointed to; nil if it is zero.
func (t *Tally) place(at paddock.Position) *paddock.Position {
	if at == (paddock.Position{}) {
		return nil
	}
	t.places = append(t.places, at)
	return &t.places[len(t.places)-1]
}

func (t *Tally) closed(result paddock.GateResult) {
	t.gates, t.cuts, t.from = append(t.gates, result), append(t.cuts, len(t.text)), len(t.text)
}

// Skip closes the gate without an answer.
func (t *Tally) Skip(g paddock.Gate, why string) {
	t.text = t.text[:t.from]
	t.closed(paddock.GateResult{Gate: g, Verdict: paddock.Skipped, Detail: why})
}

// Refusing reports whether the gate being asked has a reason against the request.
func (t *Tally) Refusing() bool { return len(t.refusals) > t.open }

// Refused reports whether a gate that is closed refused with code.
func (t *Tally) Refused(code paddock.Code) bool {
	return slices.ContainsFunc(t.refusals[:t.open], func(r paddock.Refusal) bool { return r.Code == code })
}

// Conclude puts the answers into d: deny beats ask beats allow.
func (t *Tally) Conclude(d *paddock.Decision) {
	said, from := string(t.text), 0
	for i, to := range t.cuts {
		if from < to {
			t.gates[i].Detail = said[from:to]
		}
		from = to
	}
	d.Gates, d.Refusals = t.gates, nil
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
