//go:build linux && (amd64 || arm64)

package spawn

import "unsafe"

// ownStacks says that what is forked gets a stack of its own; see clone.
const ownStacks = true

// clone makes the system call nr, clone or clone3, and returns its result, an
// error as the kernel returns it. What it makes never returns: with the stack
// that the arguments name it goes on in the function at entry, with state as its
// argument.
//
//go:noescape
//go:nosplit
func clone(nr, a1, a2, a3, a4, a5 uintptr, state unsafe.Pointer, entry uintptr) uintptr

// entryOf returns where f begins.
func entryOf(f func(*initState)) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }
