// Package probe lets a program attempt, from inside a run, what containment is to
// prevent, and says which attempts were held. The table of what must be held at which
// level is here: it is docs/threat-model.md in values, and tests compare the two.
//
// What is attempted is in package attempt, which the tests of containment use too.
//
// # Limits
//
// The package starts nothing: whoever wants to know starts a program that calls
// [Run]. What came of an attempt outside (a datagram that arrived, a file that was
// made) can be seen only there, and is the caller's to add, as are the checks that
// no program can make of itself. A promise that holds here today is no proof of it:
// the tests of a release attempt more.
package probe

import (
	"slices"

	"paddock"
	"paddock/internal/contain/probe/attempt"
)

// Targets are what is attempted, made by whoever asks.
type Targets = attempt.Targets

// Made is the name of a file that is made in Targets.Outside.
const Made = attempt.Made

// A Result is what came of one check.
type Result struct {
	Check string `json:"check"`
	Held  bool   `json:"held"`
	// Tried is false where there was nothing to attempt it on.
	Tried bool `json:"tried"`
	// Detail is what the kernel answered.
	Detail string `json:"detail"`
}

// A Promise says when a level holds something.
type Promise int

// The promises. The zero Promise is none.
const (
	Never Promise = iota
	Always
	// Hidden is held where the run has a PID namespace.
	Hidden
)

// Applies reports whether the promise is made to a run held by these means.
func (p Promise) Applies(by paddock.Isolation) bool {
	return p == Always || p == Hidden && slices.Contains([]paddock.Isolation{paddock.PIDNamespace, paddock.UserPIDNamespace}, by)
}

// A Check is one line of what is found out, made of one or more attempts, and what
// is promised about it.
type Check struct {
	ID string
	// Row is the first cell of the row of docs/threat-model.md that promises it.
	Row string
	// Full, Standard and Off say what each level promises.
	Full, Standard, Off Promise
	// Meaning says what a program can do where it isn't held, and Remedy what to
	// do where it should have been.
	Meaning, Remedy string
	// Works is set where held means that all of it works.
	Works bool
	// Beside is set where another run than that of [Run] finds it out.
	Beside bool
}

// attempts are those that settle the check at a level: those that the level promises
// something of, or else all that may be made.
func (c Check) attempts(level paddock.Level) []attempt.Attempt {
	var made, promised []attempt.Attempt
	for _, a := range attempt.List {
		expected := a.At(level)
		if a.Check != c.ID || a.Rough || expected == attempt.Untried {
			continue
		}
		made = append(made, a)
		if expected == attempt.Held && !c.Works || expected == attempt.Open && c.Works {
			promised = append(promised, a)
		}
	}
	if len(promised) > 0 {
		return promised
	}
	return made
}

// At returns what the level promises.
func (c Check) At(level paddock.Level) Promise {
	switch level {
	case paddock.Full:
		return c.Full
	case paddock.Standard:
		return c.Standard
	case paddock.Off:
		return c.Off
	}
	return Never
}

// Find returns the check called id.
func Find(id string) (Check, bool) {
	i := slices.IndexFunc(Table, func(c Check) bool { return c.ID == id })
	if i < 0 {
		return Check{}, false
	}
	return Table[i], true
}
