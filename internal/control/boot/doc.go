// Package boot has the machine's boot clock, by which leases are said to supervisors: it
// is one for all processes, goes on while the machine sleeps, and nobody sets it.
//
// # Limits
//
// Its times mean nothing on another machine, or after a restart of this one.
package boot
