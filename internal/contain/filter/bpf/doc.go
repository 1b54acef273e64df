// Package bpf writes and runs the small programs by which seccomp(2) judges system
// calls: an [Assembler] makes one, [Verify] checks it, [Run] runs it without the
// kernel.
//
// # Limits
//
// It knows the instructions that our filters use and takes any other for an
// error. It doesn't know what a call means (package filter does) and installs
// nothing (package contain does). On other systems than Linux it is empty.
package bpf
