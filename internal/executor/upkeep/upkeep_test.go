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
		var turns, signed, warned atomic.Int64
		u := &Upkeep{
			State: state, Now: time.Now, Warn: func(error) { warned.Add(1) },
			Flush: func(context.Context) error { return nil },
			Sweep: func(context.Context) error { turns.Add(1); return errors.New("of a test") },
			Sign: func(ctx context.Context) error {
				signed.Add(1)
				<-ctx.Done() // a journal that takes long to read
				return ctx.Err()
			},
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
			if turns.Load() != n || warned.Load() != n {
				t.Errorf("after %d seconds %d turns and %d warnings", 5*n, turns.Load(), warned.Load())
			}
		}
		if signed.Load() != 1 {
			t.Errorf("signed %d times at once", signed.Load())
		}
		cancel()
		<-over
		must(t, state.Close())
	})
}
