//go:build !race

package page

import (
	"syscall"
	"unsafe"
)

const (
	large = 2 << 20
	// piece is taken at a time of what is skipped: as much as Go still takes in
	// turn. It gets such memory from the kernel's own zeros and doesn't write to it.
	piece = 64 << 10
)

// next is where the large page begins.
var next uintptr

func init() {
	var last []byte
	for i := range skipped {
		b := make([]byte, piece)
		if i > 0 && address(b)/large != address(last)/large {
			break // the heap goes on here
		}
		skipped[i], last = b, b
	}
	next = (address(last)/large + 1) * large
	// The heap has this, and nothing in it yet. Without large pages everything is as it was.
	page := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(last)), next-address(last))), large)
	_ = syscall.Madvise(page, syscall.MADV_HUGEPAGE)
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
