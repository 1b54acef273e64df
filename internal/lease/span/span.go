// Package span reads how long leases last from the files of servers and workers, which
// say it alike.
//
// # Limits
//
// Which times make sense is said by package lease.
package span

import (
	"fmt"
	"time"

	"paddock/internal/lease"
	"paddock/internal/policy/compiled/document/shape"
	"paddock/internal/policy/compiled/document/shape/table/unit"
)

// Name is that of the key.
const Name = "leases"

// Keys are those within it.
func Keys() []string { return []string{"beat", "silent", "dead_man"} }

// Key is what a file may say.
func Key() shape.Key {
	long := shape.Text{Say: unit.DurationSay, Pattern: shape.Expression(unit.DurationForm)}
	return shape.Key{Name: Name, Doc: "How soon a silent worker is noticed, and its runs end.", Shape: shape.Object{Keys: []shape.Key{
		{Name: "beat", Doc: "how often a worker says that it is there.", Shape: long},
		{Name: "silent", Doc: "how long it may say nothing until its runs are unreachable.", Shape: long},
		{Name: "dead_man", Doc: "how long its runs go on by themselves.", Shape: long},
	}}}
}

// Read are the times of a file's words for the keys, in their order; empty ones are as
// usual.
func Read(words []string) (lease.Times, error) {
	var all [3]time.Duration
	for i, text := range words {
		if text == "" {
			continue
		}
		d, err := unit.ParseDuration(text)
		if err != nil {
			return lease.Times{}, fmt.Errorf("%s is %.60q; %w", Keys()[i], text, err)
		}
		all[i] = d
	}
	return lease.Set(all[0], all[1], all[2])
}
