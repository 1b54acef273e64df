// Package counts reads what the kernel counts of cgroups and of processes.
//
// # Limits
//
// What a count means, and in which file it is, is for package resource to know.
// Linux only.
package counts
