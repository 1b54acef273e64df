package deadman

import (
	"testing"
	"time"
)

func TestNobodysRunHasNoEnd(t *testing.T) {
	t.Parallel()
	w := New(0, time.After, func() time.Duration { return time.Hour })
	w.Renew(time.Second)
	if next, over := w.Look(); next != nil || over {
		t.Errorf("a run that nobody leased: %v, %v", next, over)
	}
}

func TestALeaseEndsUnlessItIsRenewed(t *testing.T) {
	t.Parallel()
	now := 10 * time.Second
	var waits []time.Duration
	after := func(d time.Duration) <-chan time.Time { waits = append(waits, d); return make(chan time.Time) }
	w := New(int64(12*time.Second), after, func() time.Duration { return now })
	for _, c := range []struct {
		renew, now time.Duration
		over       bool
		wait       time.Duration
	}{
		{0, 10 * time.Second, false, 2 * time.Second},
		{11 * time.Second, 11 * time.Second, false, time.Second}, // earlier: changes nothing
		{30 * time.Second, 12 * time.Second, false, lookEvery},   // the machine may sleep meanwhile
		{20 * time.Second, 29 * time.Second, false, time.Second},
		{0, 30 * time.Second, true, 0},
	} {
		w.Renew(c.renew)
		now, waits = c.now, nil
		next, over := w.Look()
		if over != c.over || (next == nil) != over || !over && waits[0] != c.wait {
			t.Errorf("%+v: %v, %v", c, over, waits)
		}
	}
}
