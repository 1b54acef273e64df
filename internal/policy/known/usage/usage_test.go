package usage

import (
	"math"
	"strings"
	"testing"
	"time"

	"paddock"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func counter(t *testing.T, q paddock.Quota, u Usage, now time.Time) Counter {
	t.Helper()
	all := Counters(paddock.Quotas{Principal: q}, Facts{Now: now, Principal: u})
	if len(all) != 1 {
		t.Fatalf("%d counters", len(all))
	}
	return all[0]
}

// What is used is free again when its step is an hour, or a day, ago, and that time
// is said before.
func TestFreeAgain(t *testing.T) {
	t.Parallel()
	var u Usage
	u.Add(Begin(noon.Add(3*time.Minute)), 1, 0, 0)
	u.Add(Begin(noon.Add(14*time.Minute)), 2, 0, 0)
	now := noon.Add(20 * time.Minute)
	for _, c := range []struct {
		limit int
		left  int64
		again string
	}{{4, 1, ""}, {3, 0, "13:10"}, {2, 0, "13:20"}, {1, 0, "13:20"}} {
		got := counter(t, paddock.Quota{RunsPerHour: c.limit}, u, now)
		if got.Left() != c.left || (c.again == "") != got.Again.IsZero() || c.again != "" && got.Again.UTC().Format("15:04") != c.again {
			t.Errorf("of %d: %+v", c.limit, got)
		}
		if c.left == 0 {
			if r := got.Refusal(); !strings.Contains(r.Message, "`quotas.principal.runs_per_hour`") || !strings.Contains(r.Message, c.again) || !strings.Contains(r.Hint, c.again) || !r.Retryable {
				t.Errorf("%+v", r)
			}
			before := counter(t, paddock.Quota{RunsPerHour: c.limit}, u, got.Again.Add(-time.Nanosecond))
			if after := counter(t, paddock.Quota{RunsPerHour: c.limit}, u, got.Again); before.Left() != 0 || after.Left() == 0 {
				t.Errorf("of %d: before %v, after %v", c.limit, before, after)
			}
		}
	}
	if day := counter(t, paddock.Quota{RunsPerDay: 3}, u, now); day.Again.UTC() != noon.Add(24*time.Hour+Step) {
		t.Errorf("%+v", day)
	}
}

// Bytes that runs may still print count as used, and what to wait for is said.
func TestReserved(t *testing.T) {
	t.Parallel()
	u := Usage{Kept: 60, Open: map[paddock.RunID]Open{"a": {Reserved: 30}, "b": {Reserved: 10}}}
	u.Add(Begin(noon), 0, 70, 0)
	for _, c := range []struct {
		q    paddock.Quota
		left int64
		want string
	}{
		{paddock.Quota{Kept: 200}, 100, "60 of 200 bytes of output are kept"},
		{paddock.Quota{Kept: 100}, 0, "when they end"},
		{paddock.Quota{Kept: 50}, 0, "`paddock prune`"},
		{paddock.Quota{OutputPerDay: 115}, 5, "70 of 115"},
		{paddock.Quota{OutputPerDay: 110}, 0, "40 are reserved"},
		{paddock.Quota{OutputPerDay: 70}, 0, "2026-11-30T12:10:00Z"},
	} {
		got := counter(t, c.q, u, noon)
		if got.Left() != c.left || !strings.Contains(got.String(), c.want) {
			t.Errorf("%+v: %d left: %s; want %d, %q", c.q, got.Left(), got, c.left, c.want)
		}
	}
	all := Counters(paddock.Quotas{Principal: paddock.Quota{RunsPerDay: 1, Kept: 200}, Total: paddock.Quota{Kept: 90}}, Facts{Now: noon, Principal: u, Total: u})
	if left, by := Room(all); left != 0 || by.Name != "total.kept" {
		t.Errorf("%d by %+v", left, by)
	}
	if left, by := Room(all[:1]); left != math.MaxInt64 || by != nil {
		t.Errorf("%d by %+v", left, by)
	}
}

func TestProcessorsTime(t *testing.T) {
	t.Parallel()
	var u Usage
	u.Add(Begin(noon), 0, 0, paddock.Duration(90*time.Minute))
	c := counter(t, paddock.Quota{CPUPerDay: paddock.Duration(time.Hour)}, u, noon)
	if c.Left() != 0 || !strings.Contains(c.String(), "1h30m0s of 1h0m0s of processors' time") {
		t.Error(c)
	}
}

// A clock that is set back doesn't lock anybody out, and a usage stays small.
func TestClocks(t *testing.T) {
	t.Parallel()
	var u Usage
	for i := range 1000 {
		now := noon.Add(time.Duration(i) * 5 * time.Minute)
		u.Add(Begin(now), 1, 1, 1)
		u.Forget(now)
	}
	if len(u.Steps) > 145 || u.Valid() != nil {
		t.Errorf("%d steps, %v", len(u.Steps), u.Valid())
	}
	if c := counter(t, paddock.Quota{RunsPerDay: 1}, u, noon.Add(-time.Hour)); c.Left() != 1 {
		t.Error(c)
	}
	u.Add(u.Steps[0].At, -u.Steps[0].Runs, -u.Steps[0].Output, -u.Steps[0].CPU)
	if len(u.Steps) > 144 {
		t.Error("an empty step stays")
	}
}
