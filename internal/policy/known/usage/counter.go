package usage

import (
	"fmt"
	"math"
	"time"

	"paddock"
)

// A Facts is what was used until now.
type Facts struct {
	Now              time.Time
	Principal, Total Usage
}

// A Counter is one quota with what is used of it.
type Counter struct {
	// Name is how the policy says it, such as principal.runs_per_hour.
	Name string
	// Limit is what may be used, Used what is, and Reserved what runs that go on
	// may use yet.
	Limit, Used, Reserved int64
	// Bytes is set where it counts output.
	Bytes bool
	// Again is when some is free again by time alone; zero where it isn't so.
	Again time.Time

	of     string
	say    func(int64) string
	pruned bool
}

// Left is what may still be used.
func (c Counter) Left() int64 { return max(0, c.Limit-c.Used-c.Reserved) }

// String says the counter's name, what is used, what may be and when some is free
// again.
func (c Counter) String() string {
	s := fmt.Sprintf("`quotas.%s`: %s of %s %s", c.Name, c.say(c.Used), c.say(c.Limit), c.of)
	if c.Reserved > 0 {
		s += fmt.Sprintf(", and %s are reserved for runs that go on", c.say(c.Reserved))
	}
	switch {
	case c.Left() > 0:
	case c.Used < c.Limit:
		s += "; what they don't print is free again when they end"
	case c.pruned:
		s += "; room is made by `paddock prune`"
	default:
		s += "; some is free again at " + c.Again.UTC().Format(time.RFC3339)
	}
	return s
}

// Hint says what whoever met the counter can do.
func (c Counter) Hint() string {
	switch {
	case c.Used < c.Limit:
		return "Wait for a run that goes on to end (`command_status` with waitMs, or `paddock wait`), then ask again. Runs reserve what they may print, so the operator may want a lower `limits.output`."
	case c.pruned:
		return "Ask the operator to remove output that isn't needed, with `paddock prune`, or to raise the quota in the policy."
	}
	return "Ask again at " + c.Again.UTC().Format(time.RFC3339) + ", or ask the operator to raise the quota in the policy."
}

// Refusal refuses because of a counter of which nothing is left.
func (c Counter) Refusal() *paddock.Refusal {
	r := paddock.Refused(paddock.QuotaExceeded, "%s.", c)
	r.Hint = c.Hint()
	return r
}

// Counters returns those of the quotas that there are.
func Counters(q paddock.Quotas, f Facts) []Counter {
	return append(counters("principal.", q.Principal, f.Principal, f.Now), counters("total.", q.Total, f.Total, f.Now)...)
}

func counters(prefix string, q paddock.Quota, u Usage, now time.Time) (all []Counter) {
	if q == (paddock.Quota{}) {
		return nil
	}
	reserved := u.Reserved()
	add := func(c Counter, window time.Duration, of func(Used) int64) {
		if c.Limit <= 0 {
			return
		}
		if window > 0 {
			c.Used, c.Again = u.in(now, window, of), u.again(now, window, c.Limit, of)
		}
		if c.Bytes {
			c.Reserved = reserved
		}
		c.Name = prefix + c.Name
		all = append(all, c)
	}
	runs := func(s Used) int64 { return int64(s.Runs) }
	add(Counter{Name: "runs_per_hour", Limit: int64(q.RunsPerHour), of: "runs were started in an hour", say: number}, Hour, runs)
	add(Counter{Name: "runs_per_day", Limit: int64(q.RunsPerDay), of: "runs were started in a day", say: number}, Day, runs)
	add(Counter{Name: "output_per_day", Limit: q.OutputPerDay, Bytes: true, of: "bytes were printed in a day", say: number}, Day, func(s Used) int64 { return s.Output })
	add(Counter{Name: "cpu_per_day", Limit: int64(q.CPUPerDay), of: "of processors' time were taken in a day", say: duration}, Day, func(s Used) int64 { return int64(s.CPU) })
	add(Counter{Name: "kept", Limit: q.Kept, Used: u.Kept, Bytes: true, of: "bytes of output are kept", say: number, pruned: true}, 0, nil)
	return all
}

func number(n int64) string   { return fmt.Sprint(n) }
func duration(n int64) string { return paddock.Duration(n).String() }

// Room returns how many bytes a run may print by these counters, and the one that
// allows least; nil where none counts bytes.
func Room(all []Counter) (bytes int64, by *Counter) {
	bytes = math.MaxInt64
	for i, c := range all {
		if c.Bytes && c.Left() < bytes {
			bytes, by = c.Left(), &all[i]
		}
	}
	return bytes, by
}
