// Package heap has Go's heap begin on a large page, in programs that import it.
//
// What starts and ends within milliseconds spends most of its time on page faults:
// the kernel is entered for each 4 KiB of memory that is written to for the first
// time, and clears it. A large page of 2 MiB is one fault, and cleared in less time
// than ten small ones are entered for. Go asks for large pages only when a heap has
// grown, so this package asks before the first packages make their tables.
//
// # Limits
//
// It works on Linux where transparent_hugepage is madvise or always and the kernel
// has such a page at hand, but not in builds with the race detector; elsewhere
// nothing changes. Where the heap begins is random, so the rest of the page it began
// on, up to 2 MiB of addresses and none of memory, is taken and never used. Only one
// large page is asked for: a program that needs more runs long enough for Go to see
// to it. A process that needs less takes a mebibyte or so more than it would.
package heap
