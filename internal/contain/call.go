package contain

import (
	"syscall"
	"unsafe"
)

// A Call is one system call, prepared: package spawn carries out a list of them
// in a process where nothing can be allocated any more. That is all the child of
// a fork has to know of containment; what the list says is decided here, in
// values that can be tested and printed.
type Call struct {
	// Step says what the call is for, in the words of a report of its failure.
	Step string
	Nr   uintptr
	Args [6]Arg
	// Into receives the result, in its first four bytes; nil drops it.
	Into []byte
	// Accept lists errors that are as good as success.
	Accept []syscall.Errno
	// Got and Want are compared after the call; a difference fails the step.
	Got, Want []byte
}

// An Arg is an argument of a Call: a number, memory, or the result of an
// earlier call.
type Arg struct {
	value    uintptr
	memory   []byte
	pointers []Pointer
	result   bool
}

// A Pointer says that memory holds, at the offset At, the address of To.
// Whoever carries out a Call may have moved the memory, and puts it there.
type Pointer struct {
	At       uintptr
	To       []byte
	Pointers []Pointer // of To
}

// Number is the argument n.
func Number[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64 | ~uintptr](n N) Arg {
	return Arg{value: uintptr(n)}
}

// Memory is the address of b, which the call may read or write. What else b
// leads to is said by pointers.
func Memory(b []byte, pointers ...Pointer) Arg { return Arg{memory: b, pointers: pointers} }

// Text is the address of s with a NUL byte at its end.
func Text(s string) Arg { return Arg{memory: append([]byte(s), 0)} }

// Result is the number that an earlier call left in cell.
func Result(cell []byte) Arg { return Arg{memory: cell, result: true} }

// Parts returns what the argument is: a number where memory is nil, else the
// memory, whose address it is, or whose content if it is a result.
func (a Arg) Parts() (number uintptr, memory []byte, pointers []Pointer, result bool) {
	return a.value, a.memory, a.pointers, a.result
}

// newCell makes room for a result. It starts as an invalid descriptor.
func newCell() []byte { return []byte{0xff, 0xff, 0xff, 0xff} }

// bytesOf returns the memory of *v, for structures that the kernel reads.
func bytesOf[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}
