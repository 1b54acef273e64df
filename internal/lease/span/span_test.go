package span_test

import (
	"strings"
	"testing"
	"time"

	"paddock/internal/lease"
	"paddock/internal/lease/span"
	"paddock/internal/policy/compiled/document/shape"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]lease.Times{
		",,":          lease.Default,
		"200ms,1s,5s": {Beat: 200 * time.Millisecond, Lease: time.Second, DeadMan: 5 * time.Second, Margin: 8 * time.Second},
		",30s,15m":    {Beat: 2 * time.Second, Lease: 30 * time.Second, DeadMan: 15 * time.Minute, Margin: 5 * time.Minute},
		"10s,30s,1h":  {Beat: 10 * time.Second, Lease: 30 * time.Second, DeadMan: time.Hour, Margin: 20 * time.Minute},
	} {
		if got, err := span.Read(strings.Split(words, ",")); err != nil || got != want {
			t.Errorf("%s: %+v, %v", words, got, err)
		}
	}
	for words, want := range map[string]string{
		"99ms,,":       "beat is 99ms; it is from 100ms",
		"11s,,":        "it is from",
		",6m,1h":       "silent is 6m",
		",,4s":         "dead_man is 4s",
		",,61m":        "dead_man is 1h1m0s",
		"3s,,":         "three times as long",
		",,9s":         "longer than silent",
		"2,,":          `beat is "2"; want a duration`,
		"-2s,,":        "want a duration",
		",2s\x00,":     "want a duration",
		",,99999999d":  "too large",
		"1000000h,,":   "it is from",
		"1ns,,":        "at least 1ms",
		"2s 3s,7s,60s": "want a duration",
	} {
		if got, err := span.Read(strings.Split(words, ",")); err == nil || !strings.Contains(err.Error(), want) || got != (lease.Times{}) {
			t.Errorf("%q: %+v, %v", words, got, err)
		}
	}
}

// What isn't a duration is said at its place.
func TestKey(t *testing.T) {
	t.Parallel()
	as := shape.Object{Keys: []shape.Key{span.Key()}}
	if v, faults := shape.Read([]byte("leases: {beat: 1s, dead_man: 2m}\n"), as); len(faults) > 0 || v.Get(span.Name).Get("dead_man").Text != "2m" {
		t.Errorf("%v", faults)
	}
	for _, text := range []string{"leases: {beat: 1}", "leases: {beat: soon}", "leases: [1s]", "leases: {margin: 1s}", "leases: {beat: 1s, beat: 2s}", "leases: {beat: }"} {
		if _, faults := shape.Read([]byte(text+"\n"), as); len(faults) == 0 || faults[0].Line != 1 {
			t.Errorf("%s: %v", text, faults)
		}
	}
}
