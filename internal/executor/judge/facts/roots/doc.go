// Package roots says where the paths of a request lead, seen from the directories
// of the policy in which commands may run.
//
// A root is opened before anything inside it, and everything inside is reached
// from there; the descriptors are what is used afterwards.
//
// # Limits
//
// The paths among the arguments are looked at once and not held: they are a check
// of intent.
package roots
