//go:build linux

package filter

// Reasons for denying, as they end a sentence that begins "the program tried".
const (
	debugging = "to look into a process"
	deep      = "deep"
	keyrings  = "keyrings"
	mounting  = "mounting"
	machine   = "machine"
)
