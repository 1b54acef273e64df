package heap

import (
	"runtime"
	"runtime/debug"

	"paddock/internal/heap/page"
)

// first is when a heap is collected for the first time, in per cent of what Go
// itself waits for: what is skipped counts as if it were used.
const first = 300

// Begin puts the first collection off by as much as was skipped; after that one,
// everything is as it always is. A program calls it when it begins.
func Begin() {
	before := debug.SetGCPercent(first)
	if before != 100 { // somebody knows better
		debug.SetGCPercent(before)
		return
	}
	type token struct{ _ *int }
	runtime.AddCleanup(&token{}, func(percent int) {
		page.Forget()
		debug.SetGCPercent(percent)
	}, before)
}
