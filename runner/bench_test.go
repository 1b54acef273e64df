//go:build linux

package runner

import (
	"testing"
	"time"
)

// BenchmarkRun is one run from its start to its settled record, with a
// supervisor at hand.
func BenchmarkRun(b *testing.B) {
	w := newWorld(b, permissive, func(o *Options) { o.Warm = 4 })
	for b.Loop() {
		run, err := w.r.Start(b.Context(), Command{Argv: []string{"sh", "-c", ":"}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.r.Wait(b.Context(), run.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkExplain is one decision with all that is looked at for it.
func BenchmarkExplain(b *testing.B) {
	w := newWorld(b, permissive)
	c := Command{Argv: []string{"sh", "-c", ":"}, Timeout: time.Second}
	for b.Loop() {
		if d := w.explain(c); d.Refusal() != nil {
			b.Fatal(d.Refusal())
		}
	}
}
