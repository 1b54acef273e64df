// Package lease says who carries out which run: what a worker takes from the queue
// (package fair), how it holds on to it ([Worker]), and how servers find out that it
// no longer does ([Watch]). docs/design/0071-leases.md has the reasons.
//
// # Limits
//
// It starts nothing: [Hands] do. It compares no clocks of two machines, and reads
// none but the one that it is given. That a silent machine ends its runs by itself
// is its supervisors' promise; Watch only waits for longer than that takes.
package lease
