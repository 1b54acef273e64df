//go:build linux && cgo && (amd64 || arm64)

package spawn

// keptThread is where the C library keeps what belongs to this thread: it told
// the kernel of a place in there (rseq) and the kernel writes to it, in a fork
// too. Paddock is built without cgo; the race detector isn't.
func keptThread() [][2]uintptr {
	page := threadRegister() &^ 4095
	return [][2]uintptr{{page, page + 2*4096}}
}

// threadRegister returns the thread pointer.
//
//go:nosplit
func threadRegister() uintptr
