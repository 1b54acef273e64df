// Package lease says who carries out which run: what a worker takes from the queue
// ([Choose]), how it holds on to it ([Worker]), and how servers find out that it
// no longer does ([Watch]). docs/design/0071-leases.md has the reasons.
//
// # Limits
//
// It starts nothing: [Hands] do. It compares no clocks of two machines, and reads
// none but the one that it is given. That a silent machine ends its runs by itself
// is its supervisors' promise; Watch only waits for longer than that takes.
package lease

import "time"

// Times are how long things take. They must be alike on all machines.
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

// Lost is how long a beat may stay until the worker's runs are lost.
func (t Times) Lost() time.Duration { return t.DeadMan + t.Margin }

// sound reports whether what is unreachable comes before what is lost, and later
// than a beat or two that were missed.
func (t Times) sound() bool {
	return t.Beat > 0 && t.Lease >= 2*t.Beat && t.DeadMan > t.Lease && t.Margin > 0
}
