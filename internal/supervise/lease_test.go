//go:build linux

package supervise

import (
	"sync/atomic"
	"testing"
	"time"

	"paddock"
)

// A leased run is ended by its own supervisor when nobody renews its lease, and only
// then.
func TestALeaseThatIsOverEndsTheRun(t *testing.T) {
	t.Parallel()
	var boot atomic.Int64
	boot.Store(int64(time.Hour))
	f := newFixture(t, `echo up; while :; do sleep 1; done`)
	f.boot = func() time.Duration { return time.Duration(boot.Load()) }
	f.job.Lease = int64(time.Hour + 3*time.Second)
	got := f.run(f.printed("up"), func() {
		if err := f.client().Renew(t.Context(), time.Hour+4*time.Second); err != nil {
			t.Error(err)
		}
		boot.Store(int64(time.Hour + 3*time.Second)) // over, had nobody renewed it
		f.clock.fire(3 * time.Second)
		f.clock.await(time.Second)
		boot.Store(int64(time.Hour + 4*time.Second))
		f.clock.fire(time.Second)
	})
	if got.State != paddock.Killed || got.Reason.Kind != paddock.ReasonLease {
		t.Errorf("it ended as %s for %+v", got.State, got.Reason)
	}
}
