package lease

import (
	"fmt"
	"time"
)

// Times are how long things take. They may differ between machines: a worker says with
// each beat what its own are, and who watches it waits for the longer of both.
type Times struct {
	// Beat is how often a worker renews its leases.
	Beat time.Duration
	// Lease is how long a beat may stay until the worker's runs are unreachable.
	Lease time.Duration
	// DeadMan is how long supervisors go on after the last renewal before they end
	// their runs.
	DeadMan time.Duration
	// Margin is for ending them, and for clocks that don't go equally fast.
	Margin time.Duration
}

// Default are the usual times.
var Default = Times{Beat: 2 * time.Second, Lease: 7 * time.Second, DeadMan: time.Minute, Margin: 20 * time.Second}

// What times that somebody sets may be.
const (
	leastBeat, mostBeat = 100 * time.Millisecond, 10 * time.Second
	// MostLease is the longest that anybody waits until a run is unreachable.
	MostLease                 = 5 * time.Minute
	leastDeadMan, mostDeadMan = 5 * time.Second, time.Hour
	// leastMargin is more than a run is given to end by itself.
	leastMargin = 8 * time.Second
	// MostLost is the longest that anybody waits until a run is lost.
	MostLost = mostDeadMan + mostDeadMan/3
)

// Set are the times that somebody wants; what is zero is as usual. The margin goes with
// the dead-man time.
func Set(beat, lease, deadMan time.Duration) (Times, error) {
	t := Default
	for _, one := range []struct {
		name        string
		to          *time.Duration
		said        time.Duration
		least, most time.Duration
	}{
		{"beat", &t.Beat, beat, leastBeat, mostBeat},
		{"silent", &t.Lease, lease, 3 * leastBeat, MostLease},
		{"dead_man", &t.DeadMan, deadMan, leastDeadMan, mostDeadMan},
	} {
		if one.said == 0 {
			continue
		}
		if one.said < one.least || one.said > one.most {
			return Times{}, fmt.Errorf("%s is %s; it is from %s to %s", one.name, one.said, one.least, one.most)
		}
		*one.to = one.said
	}
	switch {
	case t.Lease < 3*t.Beat:
		return Times{}, fmt.Errorf("silent is %s and beat %s; silent must be three times as long, or one that is missed makes runs unreachable", t.Lease, t.Beat)
	case t.DeadMan < t.Lease+2*t.Beat:
		return Times{}, fmt.Errorf("dead_man is %s, silent %s and beat %s; dead_man must be longer than silent by two beats, or runs end before anybody could reach them again", t.DeadMan, t.Lease, t.Beat)
	}
	t.Margin = max(leastMargin, t.DeadMan/3)
	return t, nil
}

// Lost is how long a beat may stay until the worker's runs are lost.
func (t Times) Lost() time.Duration { return t.DeadMan + t.Margin }

// Sound reports whether what is unreachable comes before what is lost, and later
// than a beat or two that were missed.
func (t Times) Sound() bool {
	return t.Beat > 0 && t.Lease >= 2*t.Beat && t.DeadMan > t.Lease && t.Margin > 0
}
