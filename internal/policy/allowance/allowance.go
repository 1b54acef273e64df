// Package allowance says what limits a request gets: the policy's, or lower ones
// that the caller asks for. More is refused and never lowered in silence.
//
// # Limits
//
// It knows nothing of what the machine can enforce; package compiled does.
package allowance

import (
	"cmp"
	"fmt"
	"time"

	"paddock"
)

// Senseless refuses what no policy could give.
func Senseless(c paddock.Command) (refusals []*paddock.Refusal) {
	for i, asked := range []int64{int64(c.Timeout), int64(c.Idle), c.OutputLimit} {
		if asked < 0 {
			refusals = append(refusals, paddock.Refused(paddock.InvalidRequest, "The %s is below zero.", []string{"timeout", "silence", "output limit"}[i]))
		}
	}
	return refusals
}

// Exceeded refuses what is more than most, naming the maximum.
func Exceeded(c paddock.Command, most paddock.Limits) (refusals []*paddock.Refusal) {
	for i, asked := range []paddock.Duration{c.Timeout, c.Idle} {
		what, limit := []string{"timeout", "silence"}[i], []paddock.Duration{most.Timeout, most.Idle}[i]
		if limit > 0 && asked > limit {
			r := paddock.Refused(paddock.LimitExceeded, "The %s asked for, %s, is more than the maximum, %s.", what, asked, limit)
			r.Hint = fmt.Sprintf("Ask for a %s of at most %s (%d ms), or leave it out.", what, limit, time.Duration(limit).Milliseconds())
			refusals = append(refusals, r)
		}
	}
	if c.OutputLimit > most.Output {
		r := paddock.Refused(paddock.LimitExceeded, "The output limit asked for, %d bytes, is more than the maximum, %d bytes.", c.OutputLimit, most.Output)
		r.Hint = fmt.Sprintf("Ask for an output limit of at most %d bytes, or leave it out.", most.Output)
		refusals = append(refusals, r)
	}
	return refusals
}

// Of returns the limits of a request that asks for nothing senseless and exceeds
// nothing.
func Of(c paddock.Command, most paddock.Limits) paddock.Limits {
	granted := most
	granted.Timeout = cmp.Or(c.Timeout, most.Timeout)
	granted.Idle = cmp.Or(c.Idle, most.Idle)
	granted.Output = cmp.Or(c.OutputLimit, most.Output)
	return granted
}
