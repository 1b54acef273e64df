// Package lease says who carries out which run: what a worker takes from the queue
// (package fair), how it holds on to it ([Worker]), and how servers find out that it
// no longer does (package watch). docs/design/0071-leases.md has the reasons.
//
// # Limits
//
// It starts nothing: [Hands] do. It compares no clocks of two machines, and reads
// none but the one that it is given.
package lease
