package throttle_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"paddock/internal/auth/desk/internal/hall/throttle"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestBurstThenRate(t *testing.T) {
	t.Parallel()
	table := throttle.New(time.Minute, 3)
	for range 3 {
		if wait, ok := table.Take(start, "a"); !ok {
			t.Fatalf("within the burst one waits %v", wait)
		}
	}
	if wait, ok := table.Take(start, "a"); ok || wait != time.Minute {
		t.Errorf("past the burst: %v, %t", wait, ok)
	}
	if _, ok := table.Take(start, "b"); !ok {
		t.Error("another key waits for the first one's tries")
	}
	now := start.Add(time.Minute)
	if _, ok := table.Take(now, "a"); !ok {
		t.Error("a minute later there is no try")
	}
	if wait, ok := table.Take(now, "a"); ok || wait != time.Minute {
		t.Errorf("after that one: %v, %t", wait, ok)
	}
	table.Forgive("a")
	if _, ok := table.Take(now, "a"); !ok {
		t.Error("a try that was taken back counts")
	}
	if _, ok := table.Take(now.Add(time.Hour), "a"); !ok {
		t.Error("an hour later there is no try")
	}
}

// However somebody spaces his tries, there are never more than the rate gives.
func TestNeverMoreThanTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		every, burst := 10*time.Second, rapid.IntRange(1, 5).Draw(t, "burst")
		table := throttle.New(every, burst)
		now, taken := start, 0
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 30), 1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(step) * time.Second)
			wait, ok := table.Take(now, "a")
			if ok {
				taken++
			} else if _, ok := table.Take(now.Add(wait), "a"); ok {
				now = now.Add(wait)
				taken++
			} else {
				t.Fatalf("after waiting the %v that it says there is no try", wait)
			}
			if most := burst + int(now.Sub(start)/every); taken > most {
				t.Fatalf("%d tries in %v", taken, now.Sub(start))
			}
		}
	})
}

// Many who try too often hinder nobody else, but by rare chance.
func TestOthersAreNotHindered(t *testing.T) {
	t.Parallel()
	table := throttle.New(time.Minute, 2)
	for i := range 200 {
		for range 5 {
			table.Take(start, fmt.Sprintf("attacker %d", i))
		}
	}
	hindered := 0
	for i := range 1000 {
		if _, ok := table.Take(start, fmt.Sprintf("user %d", i)); !ok {
			hindered++
		}
	}
	if hindered > 10 { // about 1 in 4,000 shares both places; the users take places too
		t.Errorf("%d of 1000 are hindered", hindered)
	}
}

func TestRatesArePositive(t *testing.T) {
	t.Parallel()
	for _, bad := range []struct {
		every time.Duration
		burst int
	}{{0, 1}, {time.Second, 0}, {-1, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is a rate", bad)
				}
			}()
			throttle.New(bad.every, bad.burst)
		}()
	}
}
