// Package allowance says what limits a request gets: the policy's, or lower ones
// that the caller asks for. More is refused and never lowered in silence.
//
// # Limits
//
// What the machine can enforce is told to it.
package allowance

import (
	"cmp"
	"fmt"
	"time"

	"paddock"
)

// Senseless refuses what no policy could give.
func Senseless(c *paddock.Command) (refusals []*paddock.Refusal) {
	for i, asked := range []int64{int64(c.Timeout), int64(c.Idle), c.OutputLimit, c.DiskLimit} {
		if asked < 0 {
			refusals = append(refusals, paddock.Refused(paddock.InvalidRequest, "The %s is below zero.", []string{"timeout", "silence", "output limit", "disk limit"}[i]))
		}
	}
	return refusals
}

// Exceeded refuses what is more than most, naming the maximum.
func Exceeded(c *paddock.Command, most *paddock.Limits) (refusals []*paddock.Refusal) {
	for i, asked := range []paddock.Duration{c.Timeout, c.Idle} {
		what, limit := []string{"timeout", "silence"}[i], []paddock.Duration{most.Timeout, most.Idle}[i]
		if limit > 0 && asked > limit {
			r := paddock.Refused(paddock.LimitExceeded, "The %s asked for, %s, is more than the maximum, %s.", what, asked, limit)
			r.Hint = fmt.Sprintf("Ask for a %s of at most %s (%d ms), or leave it out.", what, limit, time.Duration(limit).Milliseconds())
			refusals = append(refusals, r)
		}
	}
	for i, asked := range []int64{c.OutputLimit, c.DiskLimit} {
		what, limit := []string{"output limit", "disk limit"}[i], []int64{most.Output, most.Disk}[i]
		if limit > 0 && asked > limit {
			r := paddock.Refused(paddock.LimitExceeded, "The %s asked for, %d bytes, is more than the maximum, %d bytes.", what, asked, limit)
			r.Hint = fmt.Sprintf("Ask for %s of at most %d bytes, or leave it out.", []string{"an output limit", "a disk limit"}[i], limit)
			refusals = append(refusals, r)
		}
	}
	return refusals
}

// Of returns the limits of a request that asks for nothing senseless and exceeds
// nothing.
func Of(c *paddock.Command, most *paddock.Limits) paddock.Limits {
	granted := *most
	granted.Timeout = cmp.Or(c.Timeout, most.Timeout)
	granted.Idle = cmp.Or(c.Idle, most.Idle)
	granted.Output = cmp.Or(c.OutputLimit, most.Output)
	granted.Disk, granted.DiskByDefault = cmp.Or(c.DiskLimit, most.Disk), most.DiskByDefault && c.DiskLimit == 0
	return granted
}

// defaultReserve is the most that is kept free where the policy says nothing, and
// reservePart the part of a smaller disk.
const (
	defaultReserve = 1 << 30
	reservePart    = 20
)

// Reserve returns what a disk of size keeps free: what is said, else 1 GiB or a
// twentieth, whichever is less.
func Reserve(said, size int64) int64 {
	return cmp.Or(said, min(defaultReserve, size/reservePart))
}
