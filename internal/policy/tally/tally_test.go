package tally

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock"
)

// What is said of a time is what a duration says of itself.
func TestSpend(t *testing.T) {
	t.Parallel()
	said := func(d time.Duration) string {
		var tally Tally
		tally.Spend(paddock.Duration(d), "")
		tally.Answer(paddock.GateLimits, paddock.Position{}, "")
		var decision paddock.Decision
		tally.Conclude(&decision)
		limits, _ := decision.Gates.Of(paddock.GateLimits)
		return limits.Detail
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "ns"))
		if rapid.Bool().Draw(t, "whole") {
			d = time.Duration(rapid.Int64Range(-10, 1e6).Draw(t, "s")) * time.Second
		}
		if got := said(d); got != d.String() {
			t.Fatalf("%s is said to be %s", d, got)
		}
	})
}
