// Package page asks for the large page on which a program's heap goes on, when it is
// initialised. It imports next to nothing, so that this comes before the packages
// that make tables: Go initialises what needs nothing first.
//
// # Limits
//
// See package heap, which is what programs import.
package page

// skipped is what is never used: addresses, and no memory.
var skipped [33][]byte

// Skipped returns how many bytes that is.
func Skipped() (n int) {
	for _, b := range skipped {
		n += len(b)
	}
	return n
}

// Forget lets go of what was skipped.
func Forget() { skipped = [len(skipped)][]byte{} }
