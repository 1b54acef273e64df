// Package ask is what a client may ask of the tools: the inputs, how strictly
// they are read, and the requests of the house that they become.
//
// An input has exactly the fields of its type, each at most once, of its type
// and never null. A value out of bounds is refused with the bounds named; none
// is corrected in silence.
//
// # Limits
//
// The package judges form only. Whether a command may run, a task exists or a
// maximum of the policy is passed, others say.
package ask
