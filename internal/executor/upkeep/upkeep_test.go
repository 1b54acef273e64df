//go:build linux

package upkeep

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/rundir"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Nobody has to wait for longer than five seconds for the truth, whatever takes its
// time beside that.
func TestEveryFiveSeconds(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		state, err := rundir.Open(dir)
		must(t, err)
		var turns, beside, warned, resumed atomic.Int64
		endless := func(ctx context.Context) error { // a long journal, a large output
			beside.Add(1)
			<-ctx.Done()
			return ctx.Err()
		}
		u := &Upkeep{
			State: state, Now: time.Now, Warn: func(error) { warned.Add(1) },
			Flush: func(context.Context) error { turns.Add(1); return errors.New("of a test") },
			Sweep: endless, Sign: endless, Resume: func(context.Context) { resumed.Add(1) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			u.Run(ctx, nil)
		}()
		for n := int64(1); n <= 3; n++ {
			<-time.After(5 * time.Second)
			synctest.Wait()
			if turns.Load() != n || warned.Load() != n || resumed.Load() != n {
				t.Errorf("after %d seconds %d turns, %d warnings, and what waits was looked at %d times", 5*n, turns.Load(), warned.Load(), resumed.Load())
			}
		}
		if beside.Load() != 2 {
			t.Errorf("swept and signed %d times at once", beside.Load())
		}
		cancel()
		<-over
		must(t, state.Close())
	})
}
