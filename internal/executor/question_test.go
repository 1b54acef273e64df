//go:build linux

package executor

import (
	"sync/atomic"
	"testing"
	"time"

	"paddock"
)

// A run that is silent after a question is said to wait for an answer, while it does;
// one that is silent after anything else isn't.
func TestAQuestionIsSaid(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	f := open(t, func(c *Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	for script, asks := range map[string]bool{
		"printf 'Go on? [y/N] '; exec sleep 98763": true,
		"echo compiling; exec sleep 98763":         false,
	} {
		later.Store(0)
		run, err := f.e.Start(t.Context(), request(script))
		if err != nil {
			t.Fatal(err)
		}
		for run.Stdout.Bytes == 0 {
			<-time.After(5 * time.Millisecond)
			if run, err = f.e.Run(t.Context(), run.ID); err != nil || run.State.Settled() {
				t.Fatal(run.State, err)
			}
		}
		later.Store(int64(time.Minute))
		if run, err = f.e.Run(t.Context(), run.ID); err != nil || run.Silent < paddock.Duration(50*time.Second) || run.Asks != asks {
			t.Errorf("%s: silent for %v, asks: %v; %v", script, time.Duration(run.Silent), run.Asks, err)
		}
		if run, err = f.e.Kill(t.Context(), run.ID, Ending{Signal: "KILL"}); err != nil || run.Asks {
			t.Errorf("%s: when it has ended: asks: %v; %v", script, run.Asks, err)
		}
	}
}
